#include "ir/literal.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "ir/support/hash.h"

namespace hloc::ir {
namespace {

// Cache-line alignment: literals become buffers that vector code reads.
std::shared_ptr<std::byte> allocate_bytes(size_t size, bool zeroed) {
  constexpr size_t line = 64;
  size_t rounded = (size + line - 1) / line * line;
  void* p = std::aligned_alloc(line, rounded == 0 ? line : rounded);
  if (p == nullptr) throw std::bad_alloc();
  if (zeroed) std::memset(p, 0, rounded);
  return {static_cast<std::byte*>(p), [](std::byte* b) { std::free(b); }};
}

Literal make_dense(Type array, bool zeroed) {
  HLOC_CHECK(array.is_array() && array.count() >= 0, "a literal needs an array type of known size");
  auto bytes = allocate_bytes(static_cast<size_t>(array.byte_size()), zeroed);
  const std::byte* data = bytes.get();
  return Literal::view(array, std::move(bytes), data);
}

}  // namespace

Literal Literal::uninitialized(Type array) { return make_dense(array, false); }
Literal Literal::zeros(Type array) { return make_dense(array, true); }

// The parts of a tuple. Tuples may nest deeper than a stack allows, so that they go from the top down: what is inside a
// part is held here while the part goes.
struct Literal::Parts {
  explicit Parts(std::vector<Literal> parts) : list(std::move(parts)) {}
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() {
    while (!list.empty()) {
      Literal last = std::move(list.back());
      list.pop_back();
      if (last.tuple_ && last.owner_.use_count() == 1) list.insert(list.end(), last.parts().begin(), last.parts().end());
    }
  }

  std::vector<Literal> list;
};

Literal Literal::tuple(Type type, std::vector<Literal> parts) {
  HLOC_CHECK(type.is_tuple() && type.tuple_size() == parts.size(), "a tuple literal has one part per element");
  Literal out;
  out.type_ = type;
  out.owner_ = std::make_shared<const Parts>(std::move(parts));
  out.tuple_ = true;
  return out;
}

Literal Literal::elided(Type type) {
  Literal out;
  out.type_ = type;
  out.elided_ = true;
  return out;
}

Literal Literal::token(Type type) {
  Literal out;
  out.type_ = type;
  return out;
}

Literal Literal::view(Type array, std::shared_ptr<const void> owner, const std::byte* bytes) {
  Literal out;
  out.type_ = array;
  out.owner_ = std::move(owner);
  out.bytes_ = bytes;
  return out;
}

const std::vector<Literal>& Literal::parts() const {
  static const std::vector<Literal> none;
  return tuple_ ? static_cast<const Parts*>(owner_.get())->list : none;
}

std::span<std::byte> Literal::mutable_bytes() {
  HLOC_CHECK(owner_.use_count() <= 1, "the bytes of a shared literal are written");
  return {const_cast<std::byte*>(bytes_), size()};
}

Literal Literal::with_type(Type type) const {
  if (elided_) return elided(type);
  HLOC_CHECK(type.byte_size() == type_.byte_size(), "a literal keeps its size when its type changes");
  Literal out = *this;
  out.type_ = type;
  return out;
}

bool Literal::operator==(const Literal& other) const {
  if (type_ != other.type_ || elided_ != other.elided_ || tuple_ != other.tuple_) return false;
  if (tuple_) return std::ranges::equal(leaves(*this), leaves(other), [](const Literal* a, const Literal* b) { return *a == *b; });
  if (bytes_ == other.bytes_) return true;
  return bytes_ && other.bytes_ && std::memcmp(bytes_, other.bytes_, size()) == 0;
}

uint64_t Literal::hash() const {
  uint64_t h = combine(type_ ? type_->hash : 0, elided_);
  if (tuple_) {
    for (const Literal* leaf : leaves(*this)) h = combine(h, leaf->hash());
    return h;
  }
  constexpr size_t sample = 256;
  auto all = bytes();
  if (all.size() <= 2 * sample) return combine(h, hash_bytes(all));
  return combine(combine(h, hash_bytes(all.first(sample))), hash_bytes(all.last(sample)));
}

std::vector<const Literal*> leaves(const Literal& literal) {
  std::vector<const Literal*> out, todo{&literal};
  while (!todo.empty()) {
    const Literal* next = todo.back();
    todo.pop_back();
    if (!next->is_tuple() || next->is_elided()) out.push_back(next);
    for (size_t i = next->parts().size(); i-- > 0;) todo.push_back(&next->parts()[i]);
  }
  return out;
}

}  // namespace hloc::ir
