// AMD's compiler library for the stub device: every action hands the source on, the last one as code.
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "tests/stubs/stub_device.h"

namespace {

struct Handle {
  uint64_t handle;
};
struct Data {
  int kind;
  std::string bytes;
};
struct Info {
  std::string isa;
  int language = 0;
};

uint64_t next = 1;
std::map<uint64_t, Data> all_data;
std::map<uint64_t, std::vector<uint64_t>> sets;
std::map<uint64_t, Info> infos;

// By the action's number in version 3: from source, to bitcode linked, to a relocatable file, to an executable.
struct Step {
  int action, from, to;
};
constexpr Step steps[] = {{2, 1, 6}, {3, 6, 6}, {4, 6, 7}, {7, 7, 8}};

const char* isa_names[] = {"amdgcn-amd-amdhsa--gfx906", "amdgcn-amd-amdhsa--gfx90a", "amdgcn-amd-amdhsa--gfx1030"};

}  // namespace

extern "C" {

void amd_comgr_get_version(size_t* major, size_t* minor) { *major = 3, *minor = 0; }
int amd_comgr_get_isa_count(size_t* count) { return *count = std::size(isa_names), 0; }
int amd_comgr_get_isa_name(size_t index, const char** name) { return *name = isa_names[index], 0; }
int amd_comgr_create_data(int kind, Handle* out) {
  all_data[out->handle = next++] = {kind, ""};
  return 0;
}
int amd_comgr_release_data(Handle) { return 0; }  // sets hold it, too
int amd_comgr_set_data(Handle data, size_t size, const char* bytes) { return all_data.at(data.handle).bytes.assign(bytes, size), 0; }
int amd_comgr_set_data_name(Handle, const char*) { return 0; }
int amd_comgr_get_data(Handle data, size_t* size, char* bytes) {
  const std::string& text = all_data.at(data.handle).bytes;
  *size = text.size();
  if (bytes) std::memcpy(bytes, text.data(), text.size());
  return 0;
}
int amd_comgr_create_data_set(Handle* out) { return sets[out->handle = next++], 0; }
int amd_comgr_destroy_data_set(Handle set) { return sets.erase(set.handle) == 1 ? 0 : 2; }
int amd_comgr_data_set_add(Handle set, Handle data) { return sets.at(set.handle).push_back(data.handle), 0; }
int amd_comgr_action_data_count(Handle set, int kind, size_t* count) {
  *count = 0;
  for (uint64_t d : sets.at(set.handle)) *count += all_data.at(d).kind == kind;
  return 0;
}
int amd_comgr_action_data_get_data(Handle set, int kind, size_t index, Handle* out) {
  for (uint64_t d : sets.at(set.handle))
    if (all_data.at(d).kind == kind && index-- == 0) return out->handle = d, 0;
  return 2;
}
int amd_comgr_create_action_info(Handle* out) { return infos[out->handle = next++], 0; }
int amd_comgr_destroy_action_info(Handle info) { return infos.erase(info.handle) == 1 ? 0 : 2; }
int amd_comgr_action_info_set_isa_name(Handle info, const char* isa) { return infos.at(info.handle).isa = isa, 0; }
int amd_comgr_action_info_set_language(Handle info, int language) { return infos.at(info.handle).language = language, 0; }
int amd_comgr_action_info_set_option_list(Handle, const char* const*, size_t) { return 0; }
int amd_comgr_action_info_set_logging(Handle, bool) { return 0; }
int amd_comgr_do_action(int action, Handle info, Handle in, Handle out) {
  const Info& i = infos.at(info.handle);
  for (const Step& s : steps) {
    if (s.action != action || (s.from == 1 && i.language != 3)) continue;
    for (uint64_t d : sets.at(in.handle)) {
      const Data& from = all_data.at(d);
      if (from.kind != s.from) continue;
      std::string bytes = s.to == 8 ? stub::make_code(i.isa.substr(i.isa.find("--") + 2), from.bytes) : from.bytes;
      all_data[next] = {s.to, bytes};
      sets.at(out.handle).push_back(next++);
      return 0;
    }
  }
  return 2;
}
}
