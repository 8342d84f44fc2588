// Names of modules as names of C functions.
#include <algorithm>
#include <cctype>
#include <span>

#include "ir/support/c_words.h"
#include "src/commands/command.h"

namespace hloc::cli {
namespace {

// What the header itself and the ones that it includes declare or define.
constexpr std::string_view header_names[] = {
    "HLOC_CONTEXT_DEFINED", "INT16_MAX", "INT32_MAX", "INT64_MAX", "INT8_MAX", "SIZE_MAX", "UINT16_MAX",
    "UINT32_MAX", "UINT64_MAX", "UINT8_MAX", "hloc_context", "int16_t", "int32_t", "int64_t", "int8_t", "intmax_t",
    "intptr_t", "max_align_t", "nullptr_t", "ptrdiff_t", "size_t", "ssize_t", "uint16_t", "uint32_t",
    "uint64_t", "uint8_t", "uintmax_t", "uintptr_t"};

// Functions of the C library that a compiler knows or a program is likely to call: one of ours would be called instead.
constexpr std::string_view library_names[] = {
    "abort", "abs", "acos", "acosf", "acosh", "acoshf", "acoshl", "acosl", "asin", "asinf", "asinh", "asinhf",
    "asinl", "atan", "atan2", "atan2f", "atanf", "atanh", "atanhf", "atexit", "atof", "atoi", "atol", "bsearch",
    "calloc", "cbrt", "cbrtf", "ceil", "ceilf", "cexp", "clock", "clog", "copysign", "copysignf", "cos", "cosf",
    "cosh", "coshf", "cpow", "csin", "csqrt", "div", "erf", "erfc", "erfcf", "erff", "exit", "exp", "exp2", "exp2f",
    "expf", "expm1", "expm1f", "fabs", "fabsf", "fclose", "fdim", "ffs", "fflush", "floor", "floorf", "fma", "fmaf",
    "fmax", "fmaxf", "fmin", "fminf", "fmod", "fmodf", "fopen", "fprintf", "fputs", "fread", "free", "frexp", "fseek",
    "ftell", "fwrite", "gamma", "getenv", "hypot", "hypotf", "index", "ilogb", "isalpha", "isdigit", "isspace", "j0",
    "j1", "jn", "labs", "ldexp", "lgamma", "lgammaf", "log", "log10", "log10f", "log1p", "log1pf", "log2", "log2f",
    "logb", "logf", "lrint", "lround", "malloc", "memchr", "memcmp", "memcpy", "memmove", "memset", "modf",
    "nearbyint", "nearbyintf", "nextafter", "open", "perror", "pow", "powf", "printf", "putchar", "puts", "qsort",
    "raise", "rand", "read", "realloc", "remainder", "remainderf", "remove", "remquo", "rename", "rint", "rintf",
    "rindex", "round", "roundf", "scalb", "scalbn", "scanf", "select", "signal", "sin", "sincos", "sinf", "sinh",
    "sinhf", "sleep", "snprintf", "sprintf", "sqrt", "sqrtf", "srand", "stderr", "stdin", "stdout", "strcat",
    "strchr", "strcmp", "strcpy", "strlen", "strncmp", "strtod", "strtol", "system", "tan", "tanf", "tanh", "tanhf",
    "tgamma", "tgammaf", "time", "tolower", "toupper", "trunc", "truncf", "write", "y0", "y1", "yn"};

}  // namespace

std::string c_identifier(std::string_view name) {
  std::string out;
  for (char c : name) out += std::isalnum(static_cast<unsigned char>(c)) && static_cast<unsigned char>(c) < 0x80 ? c : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) out.insert(out.begin(), '_');
  if (ir::is_c_word(out)) return out + '_';
  using Names = std::span<const std::string_view>;
  for (Names taken : {Names(header_names), Names(library_names)})
    if (std::ranges::find(taken, out) != taken.end()) return out + '_';
  return out;
}

}  // namespace hloc::cli
