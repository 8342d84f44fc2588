// Launches by squares: neighbouring threads read neighbouring elements of what is across, and then use it the other way round.
#include <utility>

#include "backends/gpu/c_text.h"
#include "backends/gpu/coalesce.h"
#include "backends/gpu/kernel_text.h"

namespace hloc::gpu {

using loops::Statement;

namespace {

constexpr const char* words_of_squares[] = {"block", "across", "down", "step"};

}  // namespace

void KernelText::take_words_of_squares() {
  for (const char* word : words_of_squares) taken_.insert(word);
}

// All indices but those of both sides, of which `from` gets where the block's square begins; by level.
KernelText::Statements KernelText::square_indices(std::vector<std::string>& from) {
  line("const {} block = blockIdx.x;", index_type_);
  int64_t inner = launch_.blocks;
  Statements body;
  for (size_t at = 0; at < launch_.grid.size(); ++at) {
    const GridLevel& level = launch_.grid[at];
    // What stands behind the outer side's loop may depend on it.
    if (at <= launch_.square_level) each(level.statements);
    else body.insert(body.end(), level.statements.begin(), level.statements.end());
    int64_t count = blocks_along(launch_, at);
    bool is_first = inner == launch_.blocks;
    inner /= count;
    std::string i = digit("block", is_first, count, inner);
    const std::string& index = indices_[level.loop->index];
    if (is_side(launch_, at)) line("const {} {} = {} * {};", index_type_, from[at] = unique(index + "_from"), i, square_side);
    else line("const {} {} = {};", index_type_, index, i);
  }
  return body;
}

// Opens the loop over a thread's elements, with the indices of both sides, within what there is of them; how many braces.
int KernelText::open_step(const std::vector<std::string>& from, const char* outer, const char* inner) {
  line("#pragma unroll");
  open(fmt::format("for (int step = 0; step < {}; step += {})", square_side, square_rows));
  std::vector<std::string> inside;
  for (auto [level, own] : {std::pair{launch_.square_level, outer}, std::pair{launch_.grid.size() - 1, inner}}) {
    const loops::Loop& l = *launch_.grid[level].loop;
    line("const {} {} = {} + {};", index_type_, indices_[l.index], from[level], own);
    if (l.extent % square_side != 0) inside.push_back(fmt::format("{} < {}", indices_[l.index], l.extent));
  }
  if (!inside.empty()) open(fmt::format("if ({})", fmt::join(inside, " && ")));
  return inside.empty() ? 1 : 2;
}

void KernelText::squares() {
  std::vector<std::string> from(launch_.grid.size());
  Statements body = square_indices(from);
  body.insert(body.end(), launch_.body.begin(), launch_.body.end());
  line("const int across = threadIdx.x % {0}, down = threadIdx.x / {0};", square_side);
  local_buffers();

  Coalescing coalescing(gpu_kernel_, launch_);
  std::vector<const loops::Load*> turned;
  std::map<const loops::Load*, std::string> squares;
  for (const Statement* s : launch_.body) {
    auto* load = s->as<loops::Load>();
    if (!load || !coalescing.is_across(*load, launch_.square_level)) continue;
    turned.push_back(load);
    const std::string& square = squares[load] = unique(buffers_[load->access.buffer] + "_square");
    line("__shared__ {} {}[{}][{}];", c_type(kernel_.buffers[load->access.buffer].element), square, square_side, square_side + 1);
  }
  int opened = open_step(from, "across", "down + step");
  for (const loops::Load* load : turned) line("{}[down + step][across] = {};", squares[load], element(load->access));
  while (opened-- > 0) close();
  line("__syncthreads();");
  opened = open_step(from, "down + step", "across");
  for (const Statement* s : body) {
    auto* load = s->as<loops::Load>();
    auto square = load ? squares.find(load) : squares.end();
    if (square == squares.end()) statement(*s);
    else define(load->result, buffers_[load->access.buffer] + "_at", square->second + "[across][down + step]");
  }
  while (opened-- > 0) close();
}

}  // namespace hloc::gpu
