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

// A graph: immutable, cheap to copy, safe to share between threads. One that was moved from may only be assigned to.
class Module {
 public:
  explicit Module(std::shared_ptr<const ir::Module> module) : module_(std::move(module)) {}

  // As the text says it: "jit_f.12".
  std::string name() const;
  // Leaves of all parameters and of the result, depth first; tokens take no slot. An error of kind `target` when one has
  // no static shape.
  Result<std::vector<Shape>> parameters() const;
  Result<std::vector<Shape>> results() const;
  // Instructions over all computations, each computation once.
  size_t instruction_count() const;
  // Whether the program checks itself (`check.expect_*`).
  bool checks_itself() const;

  // For hloc's own code: the graph itself.
  const std::shared_ptr<const ir::Module>& ir() const { return module_; }

 private:
  std::shared_ptr<const ir::Module> module_;
};

// One module from text (HLO or StableHLO, told by content) of less than 4 GiB. `file` is what errors name; those of kind
// `input` say where in the text. A text with several modules is an error; read_all takes those. What the grammar allows is
// read and nothing more is checked: `compile` verifies, and so does `verify`.
Result<Module> read(std::string text, std::string file = "<text>");
Result<std::vector<Module>> read_all(std::string text, std::string file = "<text>");
// The same for a file, or standard input for "-".
Result<Module> read_file(const std::string& path);
// A whole file, or standard input for "-"; an error of kind `input` for a missing one or a folder, `io` where reading fails.
Result<std::string> read_bytes(const std::string& path);

enum class Format : uint8_t { hlo, stablehlo };
// The module as text that `read` takes back; an error names the op that the format has no form for (HLO: some dynamic
// StableHLO ops; StableHLO: fusions, layouts of bitcasts …).
Result<std::string> print(const Module& module, Format format = Format::hlo);

// Shapes, attributes, callee signatures: everything reading does not check. The error, of kind `input`, points at the first
// instruction that is wrong.
Result<void> verify(const Module& module);

// Same instructions in the same order with the same everything; `why` says what differs first, "" for equal modules.
bool equal(const Module& a, const Module& b, std::string* why = nullptr);

}  // namespace hloc
