// Launches by squares: neighbouring threads read neighbouring elements of what is across, and then use it the other way round.
#include <algorithm>
#include <utility>

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

void KernelText::squares() {
  line("const {} block = blockIdx.x;", index_type_);
  int64_t inner = launch_.blocks;
  Statements body;
  std::vector<std::string> from(launch_.grid.size());  // of the sides
  for (size_t at = 0; at < launch_.grid.size(); ++at) {
    const GridLevel& level = launch_.grid[at];
    // What stands behind the outer side's loop may depend on it.
    if (at <= launch_.square_level) each(level.statements);
    else body.insert(body.end(), level.statements.begin(), level.statements.end());
    int64_t count = blocks_along(launch_, at);
    bool is_first = inner == launch_.blocks, is_side = at == launch_.square_level || at + 1 == launch_.grid.size();
    inner /= count;
    std::string i = "block";
    if (inner > 1) i += fmt::format(" / {}", inner);
    if (!is_first) i += fmt::format(" % {}", count);
    const std::string& index = indices_[level.loop->index];
    if (is_side) line("const {} {} = {} * {};", index_type_, from[at] = unique(index + "_from"), i, square_side);
    else line("const {} {} = {};", index_type_, index, i);
  }
  body.insert(body.end(), launch_.body.begin(), launch_.body.end());
  line("const int across = threadIdx.x % {0}, down = threadIdx.x / {0};", square_side);
  local_buffers();

  // The indices of both sides, within what there is of them.
  auto open_step = [&](const char* outer, const char* inner) {
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
  };
  std::vector<std::pair<const Statement*, std::string>> turned;
  for (const Statement* s : launch_.body) {
    auto* load = s->as<loops::Load>();
    if (!load || !is_across(gpu_kernel_, launch_, launch_.square_level, *load)) continue;
    const std::string& square = turned.emplace_back(s, unique(buffers_[load->access.buffer] + "_square")).second;
    line("__shared__ {} {}[{}][{}];", c_type(kernel_.buffers[load->access.buffer].element), square, square_side, square_side + 1);
  }
  int opened = open_step("across", "down + step");
  for (const auto& [s, square] : turned) line("{}[down + step][across] = {};", square, element(s->as<loops::Load>()->access));
  while (opened-- > 0) close();
  line("__syncthreads();");
  opened = open_step("down + step", "across");
  for (const Statement* s : body) {
    auto square = std::ranges::find_if(turned, [s](const auto& t) { return t.first == s; });
    if (square == turned.end()) statement(*s);
    else define(s->as<loops::Load>()->result, buffers_[s->as<loops::Load>()->access.buffer] + "_at", square->second + "[across][down + step]");
  }
  while (opened-- > 0) close();
}

}  // namespace hloc::gpu
