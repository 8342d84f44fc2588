// Source to bitcode, linked, to a relocatable file, to a code object: four actions of comgr. (The runtime compiler of ROCm
// 5.2, hipRTC, does the same but only where there is a device.)
#include "backends/hip/comgr.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include <fmt/format.h>

#include "backends/gpu/library.h"
#include "ir/support/source.h"

namespace hloc::hip {
namespace {

constexpr size_t most_of_log = 2000;  // bytes of what the compiler says that an error shows
constexpr const char* comgr_names[] = {"libamd_comgr.so.3", "libamd_comgr.so.2"};

// What comgr calls things by. All handles are structs of one word.
struct Data {
  uint64_t handle = 0;
};
struct DataSet {
  uint64_t handle = 0;
};
struct ActionInfo {
  uint64_t handle = 0;
};
enum DataKind { source_data = 1, log_data = 5, bitcode_data = 6, relocatable_data = 7, executable_data = 8 };

// Numbers that version 3 changed.
struct ComgrNumbers {
  int language_hip, compile_to_bitcode, link_bitcode, generate_relocatable, link_executable;
};
constexpr ComgrNumbers numbers_of_2{4, 2, 4, 6, 9}, numbers_of_3{3, 2, 3, 4, 7};

// Functions of comgr; those with a result return 0 when good.
struct Comgr {
  std::string file;  // see Library::file_identity
  ComgrNumbers numbers;
  void (*version)(size_t* major, size_t* minor);
  int (*isa_count)(size_t*);
  int (*isa_name)(size_t index, const char** name);
  int (*create_data)(int kind, Data*);
  int (*release_data)(Data);
  int (*set_data)(Data, size_t size, const char* bytes);
  int (*set_data_name)(Data, const char*);
  int (*get_data)(Data, size_t* size, char* bytes);
  int (*create_set)(DataSet*);
  int (*destroy_set)(DataSet);
  int (*add)(DataSet, Data);
  int (*count)(DataSet, int kind, size_t*);
  int (*at)(DataSet, int kind, size_t index, Data*);
  int (*create_info)(ActionInfo*);
  int (*destroy_info)(ActionInfo);
  int (*set_isa)(ActionInfo, const char*);
  int (*set_language)(ActionInfo, int);
  int (*set_options)(ActionInfo, const char* const*, size_t count);
  int (*set_logging)(ActionInfo, bool);
  int (*act)(int action, ActionInfo, DataSet in, DataSet out);
};

Result<Comgr> load_comgr() {
  gpu::Library library(comgr_names, "HLOC_ROCM_PATH");
  if (!library.is_open())
    return error(ErrorKind::target, "this needs comgr, AMD's compiler library, and libamd_comgr.so.3 (or .2) was not found; install it "
                                    "(Debian: apt install libamd-comgr2; ROCm: comgr) or name its folder in HLOC_ROCM_PATH");
  Comgr out{};
  out.file = library.file_identity();
  library.find(out.version, "amd_comgr_get_version");
  library.find(out.isa_count, "amd_comgr_get_isa_count");
  library.find(out.isa_name, "amd_comgr_get_isa_name");
  library.find(out.create_data, "amd_comgr_create_data");
  library.find(out.release_data, "amd_comgr_release_data");
  library.find(out.set_data, "amd_comgr_set_data");
  library.find(out.set_data_name, "amd_comgr_set_data_name");
  library.find(out.get_data, "amd_comgr_get_data");
  library.find(out.create_set, "amd_comgr_create_data_set");
  library.find(out.destroy_set, "amd_comgr_destroy_data_set");
  library.find(out.add, "amd_comgr_data_set_add");
  library.find(out.count, "amd_comgr_action_data_count");
  library.find(out.at, "amd_comgr_action_data_get_data");
  library.find(out.create_info, "amd_comgr_create_action_info");
  library.find(out.destroy_info, "amd_comgr_destroy_action_info");
  library.find(out.set_isa, "amd_comgr_action_info_set_isa_name");
  library.find(out.set_language, "amd_comgr_action_info_set_language");
  library.find(out.set_options, "amd_comgr_action_info_set_option_list");
  library.find(out.set_logging, "amd_comgr_action_info_set_logging");
  library.find(out.act, "amd_comgr_do_action");
  if (!library.has_all()) return error(ErrorKind::target, "the comgr that was found is too old: version 2.0 (ROCm 4) or newer is needed");
  size_t major = 0, minor = 0;
  out.version(&major, &minor);
  out.numbers = major >= 3 ? numbers_of_3 : numbers_of_2;
  return out;
}

// The first ROCm whose comgr knows the processor, where that is newer than others.
struct ProcessorSince {
  std::string_view processor, rocm;
};
constexpr ProcessorSince processors_since[] = {{"gfx942", "6.0"}, {"gfx1100", "5.5"}};

Result<void> check_isa(const Comgr& comgr, const std::string& isa, std::string_view processor) {
  size_t count = 0;
  if (comgr.isa_count(&count) != 0) return {};
  for (size_t i = 0; i < count; ++i)
    if (const char* name = nullptr; comgr.isa_name(i, &name) == 0 && name == isa) return {};
  size_t major = 0, minor = 0;
  comgr.version(&major, &minor);
  std::string needed = "a newer one is needed";
  for (const ProcessorSince& p : processors_since)
    if (p.processor == processor) needed = fmt::format("that of ROCm {} or newer is needed", p.rocm);
  return error(ErrorKind::target, fmt::format("the comgr that was found (version {}.{}) does not know {}; {}", major, minor, processor,
                                              needed));
}

// A set of data that is given back.
class OwnedSet {
 public:
  explicit OwnedSet(const Comgr& comgr) : comgr_(comgr) { is_made_ = comgr.create_set(&set_) == 0; }
  OwnedSet(const OwnedSet&) = delete;
  OwnedSet& operator=(const OwnedSet&) = delete;
  ~OwnedSet() {
    if (is_made_) comgr_.destroy_set(set_);
  }
  DataSet get() const { return set_; }

  bool add_source(const std::string& source) {
    Data data;
    if (!is_made_ || comgr_.create_data(source_data, &data) != 0) return false;
    bool ok = comgr_.set_data(data, source.size(), source.data()) == 0 && comgr_.set_data_name(data, "kernels.hip") == 0 &&
              comgr_.add(set_, data) == 0;
    comgr_.release_data(data);
    return ok;
  }
  // The bytes of the first of this kind; empty when there are none.
  std::string first(DataKind kind) const {
    size_t count = 0, size = 0;
    Data data;
    if (comgr_.count(set_, kind, &count) != 0 || count == 0 || comgr_.at(set_, kind, 0, &data) != 0) return "";
    std::string out;
    if (comgr_.get_data(data, &size, nullptr) == 0) out.resize(size);
    if (comgr_.get_data(data, &size, out.data()) != 0) out.clear();
    comgr_.release_data(data);
    return out;
  }

 private:
  const Comgr& comgr_;
  DataSet set_;
  bool is_made_ = false;
};

class OwnedInfo {
 public:
  OwnedInfo(const Comgr& comgr, const std::string& isa) : comgr_(comgr) {
    is_made_ = comgr.create_info(&info_) == 0;
    is_good_ = is_made_ && comgr.set_isa(info_, isa.c_str()) == 0 && comgr.set_logging(info_, true) == 0;
  }
  OwnedInfo(const OwnedInfo&) = delete;
  OwnedInfo& operator=(const OwnedInfo&) = delete;
  ~OwnedInfo() {
    if (is_made_) comgr_.destroy_info(info_);
  }
  bool is_good() const { return is_good_; }
  ActionInfo get() const { return info_; }

 private:
  const Comgr& comgr_;
  ActionInfo info_;
  bool is_made_ = false, is_good_ = false;
};

struct Action {
  std::string_view what;
  int number, language;
  std::span<const char* const> options;
};

// Results to the bit: no contraction into fma but where the source says so, neither before nor after bitcode. Without
// -nogpuinc the headers of HIP are looked for.
constexpr const char* compile_options[] = {"-O3", "-std=c++17", "-nogpuinc", "-ffp-contract=off"};
constexpr const char* generate_options[] = {"-O3", "-ffp-contract=off"};

Result<std::string> run_actions(const Comgr& comgr, const std::string& source, const std::string& isa) {
  const ComgrNumbers& n = comgr.numbers;
  const Action actions[] = {{"compiled", n.compile_to_bitcode, n.language_hip, compile_options},
                            {"linked", n.link_bitcode, 0, {}},
                            {"made into code", n.generate_relocatable, 0, generate_options},
                            {"linked to a code object", n.link_executable, 0, {}}};
  auto now = std::make_unique<OwnedSet>(comgr);
  OwnedInfo info(comgr, isa);
  if (!info.is_good() || !now->add_source(source)) return error(ErrorKind::memory, "comgr has no memory for the source");
  for (const Action& a : actions) {
    auto next = std::make_unique<OwnedSet>(comgr);
    comgr.set_language(info.get(), a.language);
    comgr.set_options(info.get(), a.options.data(), a.options.size());
    int status = comgr.act(a.number, info.get(), now->get(), next->get());
    if (status != 0) {
      std::string log = next->first(log_data);
      return error(ErrorKind::bug, fmt::format("the source of the kernels can't be {} by comgr (status {}):\n{}", a.what, status,
                                               log.substr(0, most_of_log)));
    }
    now = std::move(next);
  }
  return now->first(executable_data);
}

}  // namespace

Result<std::string> compile_source(const std::string& source, std::string_view processor, host::CodeCache* cache) {
  static std::mutex one_at_a_time;  // not safe to be called by several threads
  std::lock_guard lock(one_at_a_time);
  auto comgr = load_comgr();
  if (!comgr) return comgr.error();
  std::string isa = fmt::format("amdgcn-amd-amdhsa--{}", processor);
  if (auto known = check_isa(*comgr, isa, processor); !known) return known.error();
  if (!cache) return run_actions(*comgr, source, isa);
  std::string key = fmt::format("comgr {}\n{}\n{}\n{}\n{}", comgr->file, isa, fmt::join(compile_options, " "),
                                fmt::join(generate_options, " "), source);
  auto parts = cache->find_or_make(key, 1, [&]() -> Result<host::CodeCache::Parts> {
    auto made = run_actions(*comgr, source, isa);
    if (!made) return made.error();
    return host::CodeCache::Parts{*std::move(made)};
  });
  if (!parts) return parts.error();
  return std::move((*parts)[0]);
}

}  // namespace hloc::hip
