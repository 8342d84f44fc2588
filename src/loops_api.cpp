// Loop-IR text as a program of its own: read, verified and interpreted.
#include <cstring>

#include "backends/loops/loops.h"
#include "include/hloc/program.h"
#include "src/edge.h"

namespace hloc {
namespace {

Result<loops::Kernel> read_loops(std::string text, std::string file) {
  return loops::read_kernel(std::make_shared<const Source>(Source{std::move(file), std::move(text)}));
}

Shape shape_of(const loops::Buffer& b) { return {b.element, {b.count}}; }

}  // namespace

Result<LoopSignature> loops_signature(std::string text, std::string file) {
  return at_the_edge([&]() -> Result<LoopSignature> {
    auto kernel = read_loops(std::move(text), std::move(file));
    if (!kernel) return kernel.error();
    LoopSignature out;
    for (const loops::Buffer& b : kernel->buffers) {
      if (b.role == loops::BufferRole::input) out.inputs.push_back(shape_of(b));
      if (b.role == loops::BufferRole::output) out.outputs.push_back(shape_of(b));
    }
    return out;
  });
}

Result<std::vector<std::vector<std::byte>>> run_loops(std::string text, std::string file,
                                                      std::span<const std::span<const std::byte>> inputs) {
  return at_the_edge([&]() -> Result<std::vector<std::vector<std::byte>>> {
    auto kernel = read_loops(std::move(text), std::move(file));
    if (!kernel) return kernel.error();
    std::vector<std::vector<std::byte>> memory, outputs;
    size_t next = 0;
    for (const loops::Buffer& b : kernel->buffers) {
      if (b.role == loops::BufferRole::local) continue;
      memory.emplace_back(shape_of(b).bytes());
      if (b.role != loops::BufferRole::input) continue;
      if (next >= inputs.size() || inputs[next].size() != memory.back().size())
        return error(ErrorKind::input, "the inputs don't fit the kernel's buffers");
      if (!memory.back().empty()) std::memcpy(memory.back().data(), inputs[next].data(), memory.back().size());
      ++next;
    }
    std::vector<std::span<std::byte>> views(memory.begin(), memory.end());
    if (auto ok = loops::interpret(*kernel, views); !ok) return ok.error();
    size_t at = 0;
    for (const loops::Buffer& b : kernel->buffers) {
      if (b.role == loops::BufferRole::local) continue;
      if (b.role == loops::BufferRole::output) outputs.push_back(std::move(memory[at]));
      ++at;
    }
    return outputs;
  });
}

}  // namespace hloc
