// A shared library of a device's maker, loaded when it is first asked for, so that nothing here links against it.
#pragma once

#include <span>
#include <string>

namespace hloc::gpu {

class Library {
 public:
  // The first of `names` that there is in the folder that the environment variable `folder_variable` names, or its lib64 or
  // lib; else the first that there is where the loader looks. Never unloaded: a second load costs nothing.
  Library(std::span<const char* const> names, const char* folder_variable);

  bool is_open() const { return handle_ != nullptr; }

  // The function of the first of these names that there is.
  template <class Function, class... Names>
  void find(Function*& function, Names... names) {
    void* found = nullptr;
    static_cast<void>(((found = address(names)) || ...));
    function = reinterpret_cast<Function*>(found);
    has_all_ &= function != nullptr;
  }
  // Whether all functions that were looked for are there.
  bool has_all() const { return has_all_; }
  // The name of its file, with the file's size and time of change: another one where another version is installed.
  std::string file_identity() const;

 private:
  void* address(const char* name) const;

  void* handle_ = nullptr;
  bool has_all_ = true;
};

}  // namespace hloc::gpu
