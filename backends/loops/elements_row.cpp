// Row buffers (ir/row_buffer.h): a value that several loops of one row need is stored to a local buffer by a loop
// of its own, at the level of the row's number, and loaded from there.
#include <algorithm>
#include <utility>

#include "backends/loops/elements.h"
#include "ir/row_buffer.h"

namespace hloc::loops {
namespace {

constexpr int64_t row_dims_key = int64_t{1} << 35;  // split keys of filling loops, apart from those of reductions
constexpr int64_t largest_row = 1 << 16;            // bytes

bool is_of_row(const ir::Ints& row_dims, size_t d) { return std::find(row_dims.begin(), row_dims.end(), static_cast<int64_t>(d)) != row_dims.end(); }

int64_t row_elements(ir::Type type, const ir::Ints& row_dims) {
  int64_t n = 1;
  for (size_t d = 0; d < static_cast<size_t>(type.rank()); ++d)
    if (!is_of_row(row_dims, d)) n *= type.dim(static_cast<int64_t>(d));
  return n;
}

}  // namespace

// The row's dimensions where the request goes to a row buffer. Rows outside the value's own, which guards keep out, have no
// buffer: such an element is computed by itself.
std::optional<ir::Ints> Elements::row_dims(const Request& r) {
  ir::Value v = r.producer.instruction;
  if (v == filling_ || buffers_.count(v) || (hero_ && hero_->instruction)) return std::nullopt;
  auto dims = ir::row_buffer_dims(v);
  if (!dims) return std::nullopt;
  int64_t bytes = row_elements(v->type, *dims) * byte_width(v->type.element());
  if (bytes == 0 || bytes > largest_row) return std::nullopt;
  for (int64_t d : *dims) {
    Range range = b_.range(r.at.index[static_cast<size_t>(d)]);
    if (range.lo < 0 || range.hi >= v->type.dim(d)) return std::nullopt;
  }
  return dims;
}

ValueId Elements::from_row(const Request& r, const ir::Ints& row_dims) {
  ir::Value v = r.producer.instruction;
  auto buffer = fill_row(v, r.at, row_dims);
  if (!buffer) return no_id;
  Affine offset;
  for (size_t d = 0; d < r.at.index.size(); ++d) {
    if (is_of_row(row_dims, d)) continue;
    offset *= v->type.dim(static_cast<int64_t>(d));
    offset += r.at.index[d];
  }
  return load(*buffer, std::move(offset), r.at);
}

// The buffer of the row whose number `row` has in `row_dims`.
std::optional<BufferId> Elements::fill_row(ir::Value v, const Point& row, const ir::Ints& row_dims) {
  Request number{{v}, {{}, 0, no_id}};
  for (int64_t d : row_dims) number.at.index.push_back(row.index[static_cast<size_t>(d)]);
  Key key = key_of(number);
  if (auto known = row_buffers_.find(key); known != row_buffers_.end() && b_.is_open(known->second.mark)) return known->second.buffer;

  size_t level = level_of(number.at);
  b_.suspend(level);
  RowBuffer made{b_.buffer("row", BufferRole::local, v->type.element(), row_elements(v->type, row_dims)), b_.mark(level)};
  std::vector<int64_t> sizes;
  for (size_t d = 0; d < row.index.size(); ++d)
    if (!is_of_row(row_dims, d)) sizes.push_back(v->type.dim(static_cast<int64_t>(d)));
  std::vector<Variable> loops;
  std::vector<Affine> within = variables({v, row_dims_key}, sizes, loops);
  for (const Variable& l : loops) b_.begin_loop(l.index, l.extent);
  Point at{{}, 0, no_id};
  Affine offset;
  size_t next = 0;
  for (size_t d = 0; d < row.index.size(); ++d) {
    bool is_number = is_of_row(row_dims, d);
    at.index.push_back(is_number ? row.index[d] : within[next++]);
    if (is_number) continue;
    offset *= v->type.dim(static_cast<int64_t>(d));
    offset += at.index.back();
  }
  ir::Value outer = std::exchange(filling_, v);
  ValueId x = value({v}, std::move(at));
  filling_ = outer;
  if (!error_) b_.store(made.buffer, std::move(offset), x);
  for (size_t i = 0; i < loops.size(); ++i) b_.end_loop();
  b_.resume();
  if (error_) return std::nullopt;
  row_buffers_[std::move(key)] = made;
  return made.buffer;
}

}  // namespace hloc::loops
