// Reading, printing and inspecting graphs.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "result.h"
#include "tensor.h"

namespace hloc {

namespace ir {
class Module;
}

// A graph: immutable, cheap to copy, safe to share between threads.
class Module {
 public:
  Module() = default;
  explicit Module(std::shared_ptr<const ir::Module> module) : module_(std::move(module)) {}

  explicit operator bool() const { return module_ != nullptr; }
  std::string name() const;
  // Leaves of all parameters and of the result, depth first; tokens take no slot. An error when one has no static shape.
  Result<std::vector<Shape>> parameters() const;
  Result<std::vector<Shape>> results() const;
  // Instructions over all computations, each computation once.
  size_t instruction_count() const;
  // Whether the program checks itself (`check.expect_*`).
  bool checks_itself() const;

  const std::shared_ptr<const ir::Module>& ir() const { return module_; }

 private:
  std::shared_ptr<const ir::Module> module_;
};

// One module from text (HLO or StableHLO, told by content). `file` is what errors name. A text with several pieces is an
// error; read_all takes those.
Result<Module> read(std::string text, std::string file = "<text>");
Result<std::vector<Module>> read_all(std::string text, std::string file = "<text>");
Result<Module> read_file(const std::string& path);
// A whole file (or standard input for "-"), with a clear error for a missing one, a folder, or one beyond 4 GiB.
Result<std::string> read_bytes(const std::string& path);

enum class Format : uint8_t { hlo, stablehlo };
Result<std::string> print(const Module& module, Format format = Format::hlo);

// Shapes, attributes, callee signatures: everything reading does not check.
Result<void> verify(const Module& module);

// Same instructions in the same order with the same everything; `why` says what differs first.
bool equal(const Module& a, const Module& b, std::string* why = nullptr);

}  // namespace hloc
