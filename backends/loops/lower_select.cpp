// select-and-scatter: for each element of the source, the window's selected element takes it in.
//
//   result = init
//   for each source index: walk the window, keep the selected element and where it is; result[there] = scatter(…, source)
//
// Dimensions that the window leaves alone keep their index, so that loops over them are seen to work on parts of their own;
// in the others the place is a value. A window may lie in the padding altogether; then nothing is stored.
#include "backends/loops/lower_select.h"

#include <algorithm>

namespace hloc::loops {
namespace {

class SelectLowering {
 public:
  SelectLowering(Elements& e, ir::Value v, BufferId buffer)
      : e_(e), b_(e.builder()), v_(v), type_(v->type), buffer_(buffer), window_(v->as<ir::WindowAttr>().window) {
    if (window_.empty()) window_.resize(static_cast<size_t>(type_.rank()));
  }

  void initialise(SplitKey key) {
    std::vector<Elements::Variable> loops;
    std::vector<Affine> index = e_.variables(key, type_.sizes(), loops);
    for (const auto& l : loops) b_.begin_loop(l.index, l.extent);
    ValueId init = e_.value(producer_of(v_->operand(2)), {});
    if (!e_.error()) b_.store(buffer_, row_major_offset(type_, index), init);
    for (size_t i = 0; i < loops.size(); ++i) b_.end_loop();
  }

  void scatter(SplitKey source_key, SplitKey window_key) {
    std::vector<Elements::Variable> loops;
    source_ = e_.variables(source_key, v_->operand(1)->type.sizes(), loops);
    for (const auto& l : loops) b_.begin_loop(l.index, l.extent);
    select(window_key);
    if (!e_.error()) store_selected();
    for (size_t i = 0; i < loops.size(); ++i) b_.end_loop();
  }

 private:
  static bool is_left_alone(const ir::WindowDim& w) {
    return w.size == 1 && w.stride == 1 && w.pad_low == 0 && w.pad_high == 0 && w.lhs_dilate == 1;
  }
  ElementType place_type(size_t d) const { return type_.dim(static_cast<int64_t>(d)) < INT32_MAX ? ElementType::s32 : ElementType::s64; }

  void select(SplitKey key) {
    best_ = b_.declare(type_.element(), b_.constant_of_bits(type_.element(), 0));
    found_ = b_.declare(ElementType::pred, b_.constant(ElementType::pred, 0));
    places_.assign(window_.size(), no_id);
    for (size_t d = 0; d < window_.size(); ++d)
      if (!is_left_alone(window_[d])) places_[d] = b_.declare(place_type(d), b_.constant(place_type(d), -1));
    std::vector<int64_t> sizes;
    for (const ir::WindowDim& w : window_) sizes.push_back(w.size);
    std::vector<Elements::Variable> loops;
    std::vector<Affine> k = e_.variables(key, sizes, loops);
    for (const auto& l : loops) b_.begin_loop(l.index, l.extent);
    consider(k);
    for (size_t i = 0; i < loops.size(); ++i) b_.end_loop();
  }

  // The first element inside is taken, a later one if `select` does not keep what there is.
  void consider(const std::vector<Affine>& k) {
    Point at;
    for (size_t d = 0; d < window_.size(); ++d)
      at.index.push_back(e_.in_window(window_[d], source_[d], k[d], type_.dim(static_cast<int64_t>(d)), at.guards));
    always_inside_ = at.guards == 0;
    if (!always_inside_) at.otherwise = b_.constant_of_bits(type_.element(), 0);
    ValueId x = e_.value(producer_of(v_->operand(0)), at);
    if (e_.error()) return;
    ValueId best = b_.get(best_), found = b_.get(found_), inside = e_.holds(at.guards);
    std::vector<ValueId> keeps = e_.inlined(v_->callee(0), std::vector<ValueId>{best, x});
    if (e_.error()) return;
    ValueId take = b_.make(ScalarOp::And, {inside, b_.make(ScalarOp::Not, {b_.make(ScalarOp::And, {found, keeps[0]})})});
    b_.set(best_, b_.make(ScalarOp::Select, {take, x, best}));
    b_.set(found_, b_.make(ScalarOp::Or, {found, inside}));
    for (size_t d = 0; d < window_.size(); ++d)
      if (places_[d] != no_id)
        b_.set(places_[d], b_.make(ScalarOp::Select, {take, b_.index_value(place_type(d), at.index[d]), b_.get(places_[d])}));
  }

  void store_selected() {
    std::vector<Affine> index = source_;
    std::vector<Guard> guards;
    for (size_t d = 0; d < window_.size(); ++d) {
      if (places_[d] == no_id) continue;
      int64_t size = type_.dim(static_cast<int64_t>(d));
      index[d] = b_.index_of(b_.get(places_[d]), {always_inside_ ? 0 : -1, size - 1});
      if (!always_inside_) guards.push_back({index[d], 0, size});
    }
    Affine offset = row_major_offset(type_, index);
    ValueId source = e_.value(producer_of(v_->operand(1)), {source_});
    if (e_.error()) return;
    ValueId old = b_.load(buffer_, offset, guards, guards.empty() ? no_id : b_.constant_of_bits(type_.element(), 0));
    std::vector<ValueId> sum = e_.inlined(v_->callee(1), std::vector<ValueId>{old, source});
    if (!e_.error()) b_.store(buffer_, offset, sum[0], guards);
  }

  Elements& e_;
  KernelBuilder& b_;
  ir::Value v_;
  ir::Type type_;
  BufferId buffer_;
  ir::Window window_;
  std::vector<Affine> source_;
  AccId best_ = no_id, found_ = no_id;
  std::vector<AccId> places_;  // by dimension; no_id: the source's own index
  bool always_inside_ = true;
};

}  // namespace

void lower_select_and_scatter(Elements& e, ir::Value v, BufferId buffer, const std::array<SplitKey, 3>& keys) {
  SelectLowering lowering(e, v, buffer);
  lowering.initialise(keys[0]);
  if (!e.error() && v->operand(1)->type.count() != 0) lowering.scatter(keys[1], keys[2]);
}

}  // namespace hloc::loops
