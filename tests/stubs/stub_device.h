// A device that is not there, for tests: its memory is this process's under other addresses, its code is the kernels' source,
// compiled by g++ when a module is loaded and run on the CPU. cuda.cpp and hip.cpp give it the functions of the makers'
// drivers, nvrtc.cpp and comgr.cpp are the compilers to it, which hand the source on.
//
// Whatever a driver would leave undefined ends the process with a message: addresses that are not inside live memory, a
// second free, a function of no module, a launch of other sizes than the kernel's.
//
// The environment says what the device is like:
//   HLOC_STUB_DEVICES  architectures, by commas; "none" (by default one, that of the driver)
//   HLOC_STUB_FAIL     CALL:N:STATUS: the N-th call of that function returns this status; from 700 on, so do all later calls
//   HLOC_STUB_MEMORY   bytes that can be allocated at a time
//   HLOC_STUB_LOG      a file to which every call adds a line, and the end of the process what was not given back
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stub {

enum Status {
  good = 0,
  invalid_value = 1,
  out_of_memory = 2,
  no_device = 100,
  invalid_image = 200,
  invalid_context = 201,
  not_found = 500,
};

[[noreturn]] void mistake(const std::string& what);

// Begins a call: logs it; the status that the environment wants of it, else `good`.
int call(const char* name, const std::string& arguments = "");

const std::vector<std::string>& devices(const char* otherwise);  // architectures

// Code for the stub: its architecture in front of the source.
inline std::string make_code(const std::string& architecture, const std::string& source) {
  return "// stub " + architecture + "\n" + source;
}

int allocate(uint64_t& address, size_t bytes);
void free(uint64_t address);
// Where the device's bytes are in this process.
std::byte* host(uint64_t address, size_t bytes);
void copy_on_device(uint64_t to, uint64_t from, size_t bytes);  // no overlap

// `image`: what make_code gave, or an ELF file, of which only the functions' names are known and whose launches do nothing.
int load(void*& module, const void* image, const std::string& architecture);
void unload(void* module);
int find(void*& function, void* module, const char* name);
void launch(void* function, unsigned blocks, unsigned threads, unsigned shared_bytes, void** parameters);

const char* status_name(int status);

// What the end's line tells beside memory and modules: contexts in use; what is current, pushed contexts or the device's number.
extern int contexts, current;

}  // namespace stub
