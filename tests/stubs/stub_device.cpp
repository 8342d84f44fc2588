#include "tests/stubs/stub_device.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/stubs/run_blocks.h"

namespace stub {
namespace {

constexpr uint64_t first_address = 0x7000'0000'0000'0000;  // of no process: a use of it here crashes
constexpr uint64_t distance = 1 << 20;                     // free addresses between two allocations
constexpr size_t page = 4096;

struct Allocation {
  size_t bytes;
  std::byte* at;
  void* mapping;
  size_t mapped;
};

struct Kernel {
  std::string name;
  std::vector<std::string> types;  // of parameters
  unsigned threads = 0;
  KernelFunction* run = nullptr;   // none: of an ELF file
  struct Module* module = nullptr;
};

struct Module {
  void* library = nullptr;
  int wave = 32;
  Runtime** runtime = nullptr;
  std::string image;  // an ELF file
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
};

struct Device {
  std::map<uint64_t, Allocation> memory;
  uint64_t next = first_address;
  size_t in_use = 0;
  std::set<Module*> modules;
  std::set<Kernel*> kernels;
  std::map<std::string, int> calls;
  int lost = 0;

  ~Device();
};
Device device;
std::recursive_mutex mutex;

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

void log(const std::string& line) {
  const char* file = variable("HLOC_STUB_LOG");
  if (!*file) return;
  if (std::FILE* out = std::fopen(file, "a")) {
    std::fprintf(out, "%s\n", line.c_str());
    std::fclose(out);
  }
}

Device::~Device() {
  log("end: " + std::to_string(memory.size()) + " allocations, " + std::to_string(modules.size()) + " modules, " +
      std::to_string(contexts) + " contexts, current " + std::to_string(current));
  for (Module* m : modules) delete m;  // those of a lost device, which nobody can give back
}

std::string hexadecimal(uint64_t x) {
  char text[32];
  std::snprintf(text, sizeof text, "%#llx", static_cast<unsigned long long>(x));
  return text;
}

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, by);) out.push_back(part);
  return out;
}

// The kernels of a source: "__global__ void __launch_bounds__(256) k0_y(const float* x, float* y) {".
std::vector<Kernel> kernels_of(const std::string& source) {
  static const std::string start = "__global__ void __launch_bounds__(";
  std::vector<Kernel> out;
  for (size_t at = source.find(start); at != source.npos; at = source.find(start, at + 1)) {
    size_t bounds = at + start.size(), name = source.find(") ", bounds) + 2;
    size_t open = source.find('(', name), close = source.find(')', open);
    Kernel k;
    k.threads = static_cast<unsigned>(std::atoi(source.c_str() + bounds));
    k.name = source.substr(name, open - name);
    for (const std::string& parameter : split(source.substr(open + 1, close - open - 1), ','))
      k.types.push_back(parameter.substr(0, parameter.rfind('*') + 1));
    out.push_back(k);
  }
  return out;
}

int wave_of(const std::string& source) {
  size_t at = source.find("wave = ");
  return at == source.npos ? 32 : std::atoi(source.c_str() + at + 7);
}

int compile(Module& module, const std::string& source) {
  std::vector<Kernel> kernels = kernels_of(source);
  std::string calls;
  for (const Kernel& k : kernels) {
    calls += "extern \"C\" void stub_" + k.name + "(void** a) { " + k.name + "(";
    for (size_t i = 0; i < k.types.size(); ++i) calls += (i ? ", (" : "(") + k.types[i] + ")a[" + std::to_string(i) + "]";
    calls += "); }\n";
  }
  char folder[] = "/tmp/hloc-stub-XXXXXX";
  if (!::mkdtemp(folder)) return out_of_memory;
  std::string base = std::string(folder) + "/kernels";
  if (std::FILE* f = std::fopen((base + ".cpp").c_str(), "w")) {
    std::fputs((std::string(kernel_prelude) + source + calls).c_str(), f);
    std::fclose(f);
  }
  std::string options = "-std=c++17 -O1 -march=native -ffp-contract=off -fno-strict-aliasing -fwrapv -w -fPIC -shared";
  int status = std::system(("g++ " + options + " -o " + base + ".so " + base + ".cpp").c_str());
  if (status == 0) module.library = ::dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  std::system(("rm -rf " + std::string(folder)).c_str());
  if (!module.library) return invalid_image;
  module.runtime = static_cast<Runtime**>(::dlsym(module.library, "stub_runtime"));
  module.wave = wave_of(source);
  for (Kernel& k : kernels) {
    k.run = reinterpret_cast<KernelFunction*>(::dlsym(module.library, ("stub_" + k.name).c_str()));
    k.module = &module;
    if (!k.run) return invalid_image;
    module.kernels[k.name] = std::make_unique<Kernel>(k);
  }
  return good;
}

}  // namespace

int contexts = 0, current = 0;

void mistake(const std::string& what) {
  log("mistake: " + what);
  std::fprintf(stderr, "stub device: %s\n", what.c_str());
  std::abort();
}

int call(const char* name, const std::string& arguments) {
  std::lock_guard lock(mutex);
  log(name + (arguments.empty() ? "" : " " + arguments));
  int number = ++device.calls[name];
  auto wanted = split(variable("HLOC_STUB_FAIL"), ':');
  if (wanted.size() == 3 && wanted[0] == name && std::stoi(wanted[1]) == number) {
    int status = std::stoi(wanted[2]);
    if (status >= 700) device.lost = status;
    return status;
  }
  return device.lost;
}

const std::vector<std::string>& devices(const char* otherwise) {
  static const std::vector<std::string> out = [&] {
    std::string names = variable("HLOC_STUB_DEVICES");
    return names == "none" ? std::vector<std::string>{} : split(names.empty() ? otherwise : names, ',');
  }();
  return out;
}

int allocate(uint64_t& address, size_t bytes) {
  std::lock_guard lock(mutex);
  if (bytes == 0) return invalid_value;
  const char* most = variable("HLOC_STUB_MEMORY");
  if (*most && device.in_use + bytes > std::strtoull(most, nullptr, 10)) return out_of_memory;
  // The last byte stands before a page that can't be touched, as near as the alignment allows.
  size_t whole = (bytes + 255) / 256 * 256, mapped = (whole + page - 1) / page * page + page;
  void* mapping = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return out_of_memory;
  auto* end = static_cast<std::byte*>(mapping) + mapped - page;
  ::mprotect(end, page, PROT_NONE);
  std::memset(mapping, 0xff, mapped - page);
  address = device.next;
  device.next += (whole + 2 * distance - 1) / distance * distance;
  device.memory[address] = {bytes, end - whole, mapping, mapped};
  device.in_use += bytes;
  return good;
}

void free(uint64_t address) {
  std::lock_guard lock(mutex);
  auto found = device.memory.find(address);
  if (found == device.memory.end()) mistake("freed is " + hexadecimal(address) + ", which is not the start of live memory");
  ::munmap(found->second.mapping, found->second.mapped);
  device.in_use -= found->second.bytes;
  device.memory.erase(found);
}

std::byte* host(uint64_t address, size_t bytes) {
  std::lock_guard lock(mutex);
  auto after = device.memory.upper_bound(address);
  if (after != device.memory.begin()) {
    auto& [start, a] = *std::prev(after);
    if (address - start <= a.bytes && bytes <= a.bytes - (address - start)) return a.at + (address - start);
  }
  mistake(std::to_string(bytes) + " bytes at " + hexadecimal(address) + " are not inside live memory");
}

void copy_on_device(uint64_t to, uint64_t from, size_t bytes) {
  if (to < from + bytes && from < to + bytes) mistake("a copy on the device overlaps itself");
  std::memcpy(host(to, bytes), host(from, bytes), bytes);
}

int load(void*& module, const void* image, const std::string& architecture) {
  std::lock_guard lock(mutex);
  auto out = std::make_unique<Module>();
  const char* text = static_cast<const char*>(image);
  if (std::memcmp(text, ELFMAG, SELFMAG) == 0) {
    auto* header = static_cast<const Elf64_Ehdr*>(image);
    out->image.assign(text, header->e_shoff + header->e_shnum * size_t{header->e_shentsize});
  } else if (std::string(text).rfind("// stub " + architecture.substr(0, 4), 0) != 0) {  // of its generation
    return invalid_image;
  } else if (int status = compile(*out, text)) {
    return status;
  }
  module = out.get();
  device.modules.insert(out.release());
  return good;
}

void unload(void* module) {
  std::lock_guard lock(mutex);
  auto* m = static_cast<Module*>(module);
  if (device.modules.erase(m) == 0) mistake("unloaded is a module that is not loaded");
  for (const auto& [name, kernel] : m->kernels) device.kernels.erase(kernel.get());
  if (m->library) ::dlclose(m->library);
  delete m;
}

int find(void*& function, void* module, const char* name) {
  std::lock_guard lock(mutex);
  auto* m = static_cast<Module*>(module);
  if (!device.modules.contains(m)) mistake("a function is looked for in a module that is not loaded");
  auto& kernel = m->kernels[name];
  std::string section = ".text." + std::string(name) + '\0', descriptor = '\0' + std::string(name) + ".kd" + '\0';
  if (!kernel && (m->image.find(section) != m->image.npos || m->image.find(descriptor) != m->image.npos)) {
    kernel = std::make_unique<Kernel>();
    kernel->name = name;
  }
  if (!kernel) return not_found;
  device.kernels.insert(kernel.get());
  function = kernel.get();
  return good;
}

void launch(void* function, unsigned blocks, unsigned threads, unsigned shared_bytes, void** parameters) {
  std::lock_guard lock(mutex);
  auto* kernel = static_cast<Kernel*>(function);
  if (!device.kernels.contains(kernel)) mistake("a function is launched that was not found in a loaded module");
  if (blocks == 0 || threads == 0 || threads > most_threads) mistake(kernel->name + " is launched with wrong sizes");
  if (!kernel->run) return;
  if (shared_bytes != 0) mistake(kernel->name + " is launched with shared memory, which it does not use");
  if (threads != kernel->threads) mistake(kernel->name + " is launched with other threads than " + std::to_string(kernel->threads));
  std::vector<void*> arguments;
  for (size_t i = 0; i < kernel->types.size(); ++i) {
    uint64_t address = 0;
    std::memcpy(&address, parameters[i], sizeof address);
    arguments.push_back(host(address, 0));
  }
  if (!run_blocks(kernel->module->runtime, kernel->run, arguments.data(), blocks, threads, kernel->module->wave))
    mistake(kernel->name + ": threads wait for others that never come");
}

const char* status_name(int status) {
  switch (status) {
    case good: return "STUB_GOOD";
    case invalid_value: return "STUB_INVALID_VALUE";
    case out_of_memory: return "STUB_OUT_OF_MEMORY";
    case no_device: return "STUB_NO_DEVICE";
    case invalid_image: return "STUB_INVALID_IMAGE";
    case invalid_context: return "STUB_INVALID_CONTEXT";
    case not_found: return "STUB_NOT_FOUND";
    case 700: return "STUB_ILLEGAL_ADDRESS";
    default: return nullptr;
  }
}

}  // namespace stub
