// Interning of types, attributes and strings.
#include <algorithm>
#include <bit>
#include <cstring>

#include "ir/graph.h"

namespace hloc::ir {
namespace {

// Product of the sizes (or bounds), -1 when one is unknown, INT64_MAX when it does not fit.
int64_t element_count(const std::vector<Dim>& dims) {
  int64_t count = 1;
  bool unknown = false, overflow = false, zero = false;
  for (const Dim& d : dims) {
    unknown |= d.kind == Dim::unknown;
    zero |= d.size == 0;
    if (d.size > 0 && __builtin_mul_overflow(count, d.size, &count)) overflow = true;
  }
  return unknown ? -1 : zero ? 0 : overflow ? INT64_MAX : count;
}

uint64_t hash_ints(uint64_t h, const Ints& ints) {
  for (int64_t i : ints) h = combine(h, static_cast<uint64_t>(i));
  return combine(h, ints.size());
}

uint64_t hash_layout(const Layout& layout) {
  uint64_t h = hash_ints(1, layout.minor_to_major);
  const LayoutExtras& x = layout.extras;
  for (const Tile& t : x.tiles) h = hash_ints(h, t.sizes);
  for (const SplitConfig& s : x.splits) h = hash_ints(combine(h, static_cast<uint64_t>(s.dimension)), s.indices);
  for (int64_t v : {x.tail_padding, x.element_bits, x.memory_space, x.metadata_prefix,
                    static_cast<int64_t>(x.index_type), static_cast<int64_t>(x.pointer_type)})
    h = combine(h, static_cast<uint64_t>(v));
  if (!x.level_types.empty()) h = combine(h, hash_string(x.level_types));
  return x.physical_shape.empty() ? h : combine(h, hash_string(x.physical_shape));
}

uint64_t hash_type(const TypeNode& n) {
  uint64_t h = combine(static_cast<uint64_t>(n.kind), static_cast<uint64_t>(n.element));
  for (const Dim& d : n.dims) h = combine(h, static_cast<uint64_t>(d.size) ^ (uint64_t{d.symbol} << 40) ^ (uint64_t{d.kind} << 62));
  h = combine(h, hash_layout(n.layout));
  h = combine(h, reinterpret_cast<uintptr_t>(n.quant));
  for (const TypeNode* e : n.elements) h = combine(h, e->hash);
  return h;
}

void add_inner(TypeNode& node, Type inner) {
  node.elements.push_back(inner.node());
  node.is_static &= inner.is_static();
  node.depth = std::max(node.depth, inner->depth + 1);
  if (__builtin_add_overflow(node.written_size, inner->written_size, &node.written_size)) node.written_size = UINT32_MAX;
}

}  // namespace

bool Context::TypeEqual::operator()(const TypeNode* a, const TypeNode* b) const {
  return a->kind == b->kind && a->element == b->element && a->dims == b->dims && a->quant == b->quant &&
         a->elements == b->elements && a->layout == b->layout;
}

Type Context::intern(TypeNode node) {
  node.hash = hash_type(node);
  std::lock_guard lock(mutex_);
  if (auto it = type_set_.find(&node); it != type_set_.end()) return Type(*it);
  types_.push_back(std::move(node));
  type_set_.insert(&types_.back());
  return Type(&types_.back());
}

Type Context::array(ElementType element, std::vector<Dim> dims, Layout layout, const QuantParams* quant) {
  TypeNode node;
  node.kind = TypeKind::array;
  node.element = element;
  node.count = element_count(dims);
  for (const Dim& d : dims) node.is_static &= d.is_static();
  node.dims = std::move(dims);
  node.layout = std::move(layout);
  node.quant = quant;
  return intern(std::move(node));
}

Type Context::array(ElementType element, std::vector<Dim> dims, const QuantParams* quant) {
  Layout layout = Layout::row_major(dims.size());
  return array(element, std::move(dims), std::move(layout), quant);
}

Type Context::array(ElementType element, std::span<const int64_t> sizes) {
  std::vector<Dim> dims;
  dims.reserve(sizes.size());
  for (int64_t size : sizes) dims.push_back(Dim::of(size));
  return array(element, std::move(dims));
}

Type Context::tuple(std::span<const Type> elements) {
  TypeNode node;
  node.kind = TypeKind::tuple;
  for (Type t : elements) add_inner(node, t);
  return intern(std::move(node));
}

Type Context::simple(TypeKind kind) {
  TypeNode node;
  node.kind = kind;
  return intern(std::move(node));
}

Type Context::wrapped(TypeKind buffer_or_future, Type inside) {
  TypeNode node;
  node.kind = buffer_or_future;
  add_inner(node, inside);
  return intern(std::move(node));
}

Type Context::with_element(Type type, ElementType element) {
  return array(element, std::vector<Dim>(type.dims().begin(), type.dims().end()), type.layout());
}

Type Context::with_layout(Type type, Layout layout) {
  return array(type.element(), std::vector<Dim>(type.dims().begin(), type.dims().end()), std::move(layout), type->quant);
}

const Attr* Context::attr(Attr value) {
  static const Attr no_attr{NoAttr{}};
  if (holds<NoAttr>(value)) return &no_attr;
  auto h = static_cast<uint32_t>(hash(value));
  std::lock_guard lock(mutex_);
  uint32_t found = attr_index_.find(h, [&](uint32_t i) { return attrs_[i] == value; });
  if (found != HashIndex::none) return &attrs_[found];
  if (auto* constant = get_if<ConstantAttr>(&value)) keep_small(constant->value);
  attr_index_.insert(h, static_cast<uint32_t>(attrs_.size()));
  return &attrs_.emplace_back(std::move(value));
}

// Scalars would take twenty times their size if each owned its bytes: they share blocks, which live as long as any of them.
void Context::keep_small(Literal& value) {
  constexpr size_t most = 16, largest_block = size_t{1} << 16;
  size_t size = value.size();
  if (size == 0 || size > most) return;
  size_t alignment = std::bit_ceil(size);
  small_used_ = (small_used_ + alignment - 1) & ~(alignment - 1);
  if (small_used_ + size > small_size_) {
    small_size_ = std::min(largest_block, std::max<size_t>(small_size_ * 2, 256));
    small_ = std::make_shared<std::byte[]>(small_size_);
    small_used_ = 0;
  }
  std::byte* bytes = small_.get() + small_used_;
  std::memcpy(bytes, value.bytes().data(), size);
  small_used_ += size;
  value = Literal::view(value.type(), small_, bytes);
}

const QuantParams* Context::quant(QuantParams params) {
  std::lock_guard lock(mutex_);
  for (const QuantParams& q : quants_)
    if (q == params) return &q;
  quants_.push_back(std::move(params));
  return &quants_.back();
}

const Metadata* Context::metadata(Metadata value) {
  auto h = static_cast<uint32_t>(combine(hash_string(value.op_name), static_cast<uint64_t>(value.source_line) ^
                                                                         static_cast<uint64_t>(value.stack_frame_id) << 32));
  std::lock_guard lock(mutex_);
  uint32_t found = metadata_index_.find(h, [&](uint32_t i) { return metadatas_[i] == value; });
  if (found != HashIndex::none) return &metadatas_[found];
  metadata_index_.insert(h, static_cast<uint32_t>(metadatas_.size()));
  return &metadatas_.emplace_back(std::move(value));
}

std::string_view Context::string(std::string_view text) {
  std::lock_guard lock(mutex_);
  return strings_.copy(text);
}

void Context::keep(std::shared_ptr<const void> owner) {
  std::lock_guard lock(mutex_);
  kept_.push_back(std::move(owner));
}

}  // namespace hloc::ir
