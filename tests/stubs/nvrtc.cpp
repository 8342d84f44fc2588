// NVIDIA's compiler for the stub device: its cubin is the source.
#include <cstring>
#include <string>

#include "tests/stubs/stub_device.h"

namespace {

struct Program {
  std::string source, code;
};

int give(const std::string& text, char* to) { return std::memcpy(to, text.data(), text.size()), 0; }

}  // namespace

extern "C" {

int nvrtcGetNumSupportedArchs(int* count) { return *count = 3, 0; }
int nvrtcGetSupportedArchs(int* architectures) {
  architectures[0] = 75, architectures[1] = 80, architectures[2] = 90;
  return 0;
}
int nvrtcCreateProgram(Program** program, const char* source, const char*, int, const char* const*, const char* const*) {
  return *program = new Program{source, ""}, 0;
}
int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
  static const std::string wanted = "--gpu-architecture=";
  for (int i = 0; i < count; ++i)
    if (std::string(options[i]).rfind(wanted, 0) == 0) program->code = stub::make_code(options[i] + wanted.size(), program->source);
  return program->code.empty() ? 5 : 0;
}
int nvrtcGetProgramLogSize(Program*, size_t* size) { return *size = 1, 0; }
int nvrtcGetProgramLog(Program*, char* log) { return *log = '\0', 0; }
int nvrtcGetPTXSize(Program* program, size_t* size) { return *size = program->code.size(), 0; }
int nvrtcGetPTX(Program* program, char* text) { return give(program->code, text); }
int nvrtcGetCUBINSize(Program* program, size_t* size) { return *size = program->code.size(), 0; }
int nvrtcGetCUBIN(Program* program, char* code) { return give(program->code, code); }
int nvrtcDestroyProgram(Program** program) {
  delete *program;
  return *program = nullptr, 0;
}
}
