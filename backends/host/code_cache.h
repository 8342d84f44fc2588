// Code that another compiler made, kept in a folder for the next time. Processes may share a folder: an entry appears whole or
// not at all, and one that is damaged counts as absent.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "include/hloc/result.h"

namespace hloc::host {

class CodeCache {
 public:
  using Parts = std::vector<std::string>;

  explicit CodeCache(std::string folder) : folder_(std::move(folder)) {}

  // What was kept under this key, all that the code is made from: the source, the options, the compiler with its version; an
  // entry of another number of parts than `count` counts as absent. Else what `make` makes, `count` parts, which are then kept;
  // the folder is made where there is none. Errors: those of `make`; of kind `io` where the folder or the entry can't be written.
  Result<Parts> find_or_make(std::string_view key, size_t count, const std::function<Result<Parts>()>& make);

  // Whether the last call found it; nothing before the first.
  std::optional<bool> has_found() const { return has_found_; }

 private:
  std::string path_of(std::string_view key) const;
  Result<void> keep(std::string_view key, const Parts& parts) const;

  std::string folder_;
  std::optional<bool> has_found_;
};

}  // namespace hloc::host
