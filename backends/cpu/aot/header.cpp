#include "backends/cpu/aot/header.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "include/hloc/context.h"
#include "ir/print/print.h"

namespace hloc::cpu {
namespace {

// The definition of include/hloc/context.h once more, for programs that have only the object and its header.
constexpr std::string_view context_definition = R"(#ifndef HLOC_CONTEXT_DEFINED
#define HLOC_CONTEXT_DEFINED
typedef struct hloc_context hloc_context;
struct hloc_context {
  uint32_t version;   /* 1 */
  uint32_t size;      /* sizeof(hloc_context), or of what extends it */
  const int64_t* dims; /* reserved for dynamic shapes; 0 */
  void* user;         /* the caller's own */
  /* Calls body(state, i) for every i in [0, count), on any threads, and returns when all are done. 0: run serially. */
  void (*parallel_for)(const hloc_context* context, int64_t count, void (*body)(void* state, int64_t index), void* state);
};
#endif
)";
static_assert(sizeof(hloc_context) == 32 && offsetof(hloc_context, parallel_for) == 24, "keep the copy above in step");

std::string c_type(ElementType type) {
  switch (type) {
    case ElementType::pred: return "uint8_t (0 or 1)";
    case ElementType::f32: return "float";
    case ElementType::f64: return "double";
    case ElementType::c64: return "float complex";
    case ElementType::c128: return "double complex";
    default: break;
  }
  int bits = byte_width(type) * 8;
  if (is_signed_integer(type)) return fmt::format("int{}_t", bits);
  return fmt::format("uint{}_t{}", bits, is_float(type) ? " (the bits)" : "");
}

void describe_buffers(std::string& out, const plan::Program& program, const std::vector<plan::BufferId>& buffers,
                      std::string_view array, std::string_view upper, std::string_view word) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    const plan::Buffer& b = program.buffers[buffers[i]];
    ir::Ints sizes = b.type.sizes();
    std::string name = b.name.empty() ? "" : fmt::format("; {}", b.name);
    out += fmt::format("/* {}[{}]: {}, row-major{} */\n", array, i, c_type(b.type.element()), name);
    out += fmt::format("#define {}_{}{}_TYPE \"{}\"\n", upper, word, i, name_of(b.type.element()));
    out += fmt::format("#define {}_{}{}_RANK {}\n", upper, word, i, sizes.size());
    for (size_t d = 0; d < sizes.size(); ++d) out += fmt::format("#define {}_{}{}_DIM{} {}\n", upper, word, i, d, sizes[d]);
    out += fmt::format("#define {}_{}{}_BYTES {}\n", upper, word, i, b.bytes());
    out += fmt::format("#define {}_{}{}_ALIGN {}\n", upper, word, i, byte_width(b.type.element()) > 8 ? 8 : byte_width(b.type.element()));
  }
}

std::string upper_case(std::string_view s) {
  std::string out(s);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return out;
}

}  // namespace

std::string c_header(const plan::Program& program, const ir::Target& target, std::string_view abi, std::string_view symbol,
                     int64_t scratch_bytes) {
  std::string upper = upper_case(symbol);
  std::string out = fmt::format(
      "/* {0}: compiled by hloc for {1} ({4}).\n"
      "\n"
      "   int {0}(in, out, scratch, context) reads the buffers in[0…] and writes out[0…]; 0 is success.\n"
      "   Buffers are dense, row-major, and at least aligned to their elements (64 bytes is fastest). They must not overlap,\n"
      "   but where said below. scratch has {2}_SCRATCH_BYTES bytes, aligned to {2}_SCRATCH_ALIGN, and belongs to this call;\n"
      "   calls with different scratch and outputs may run at the same time. context may be 0. */\n"
      "#ifndef {2}_H_INCLUDED\n#define {2}_H_INCLUDED\n\n#include <stdint.h>\n\n"
      "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n{3}\n",
      symbol, target.name, upper, context_definition, abi);
  out += fmt::format("#define {0}_INPUTS {1}\n#define {0}_OUTPUTS {2}\n", upper, program.parameters.size(), program.results.size());
  out += fmt::format("#define {0}_SCRATCH_BYTES {1}\n#define {0}_SCRATCH_ALIGN 64\n\n", upper, scratch_bytes);
  describe_buffers(out, program, program.parameters, "in", upper, "IN");
  describe_buffers(out, program, program.results, "out", upper, "OUT");
  for (const plan::Alias& a : program.aliases)
    out += fmt::format("/* The program {} out[{}] to be in[{}]; this object reads and writes them apart. */\n",
                       a.must ? "asks for" : "allows", a.result, a.parameter);
  out += fmt::format("\nint {}(const void* const* in, void* const* out, void* scratch, const hloc_context* context);\n\n"
                     "#ifdef __cplusplus\n}}\n#endif\n#endif\n", symbol);
  return out;
}

}  // namespace hloc::cpu
