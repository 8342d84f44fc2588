// include/hloc/module.h over the readers, printers and the verifier.
#include "include/hloc/module.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>

#include <fmt/format.h>

#include "ir/equal.h"
#include "ir/graph.h"
#include "ir/print/print.h"
#include "ir/read/read.h"
#include "ir/verify.h"
#include "src/edge.h"
#include "src/signature.h"

namespace hloc {
namespace {

Result<std::vector<Module>> wrap(Result<std::vector<ir::ModuleRef>> modules) {
  if (!modules) return modules.error();
  std::vector<Module> out;
  for (ir::ModuleRef& m : *modules) out.emplace_back(std::move(m));
  return out;
}

// An error about a file as a whole.
Diagnostic in_file(const std::string& file, ErrorKind kind, std::string message) {
  Diagnostic d = error(kind, std::move(message));
  d.file = file;
  return d;
}

Result<std::vector<Module>> read_pieces(std::string text, std::string file) {
  if (text.size() >= UINT32_MAX)
    return in_file(file, ErrorKind::input, "the text has 4 GiB or more; a module must be smaller");
  auto context = std::make_shared<ir::Context>();
  auto source = std::make_shared<const Source>(Source{std::move(file), std::move(text)});
  switch (ir::file_kind(source->text)) {
    case ir::FileKind::hlo_text: {
      auto module = ir::read_hlo(source, context);
      if (!module) return module.error();
      return std::vector<Module>{Module(std::move(*module))};
    }
    case ir::FileKind::stablehlo_text: return wrap(ir::read_stablehlo(source, context));
    case ir::FileKind::stablehlo_bytecode:
      return in_file(source->file, ErrorKind::input, "MLIR bytecode is not read yet; print the module as text (module.mlir)");
    case ir::FileKind::hlo_proto:
      return in_file(source->file, ErrorKind::input, "a serialized HloModuleProto is not read yet; print the module as HLO text");
    case ir::FileKind::unknown: break;
  }
  return error_at(*source, {}, "this is neither HLO text (it starts with 'HloModule') nor StableHLO text ('module' or 'func.func')");
}

}  // namespace

std::string Module::name() const { return std::string(module_->name()); }

Result<std::vector<Shape>> Module::parameters() const {
  return at_the_edge([&]() -> Result<std::vector<Shape>> {
    std::vector<ir::Type> types;
    for (ir::Value p : module_->entry().parameters()) types.push_back(p->type);
    return leaf_shapes(types, "parameter");
  });
}

Result<std::vector<Shape>> Module::results() const {
  return at_the_edge([&]() -> Result<std::vector<Shape>> {
    ir::Type type = module_->entry().result_type();
    return leaf_shapes({&type, 1}, "result");
  });
}

size_t Module::instruction_count() const {
  size_t count = 0;
  for (const ir::ComputationRef& c : module_->computations()) count += c->size();
  return count;
}

bool Module::checks_itself() const {
  for (const ir::ComputationRef& c : module_->computations())
    for (ir::Value v : c->effects())
      if (holds<ir::CheckAttr>(*v->attr)) return true;
  return false;
}

Result<std::vector<Module>> read_all(std::string text, std::string file) {
  return at_the_edge([&] { return read_pieces(std::move(text), std::move(file)); });
}

Result<Module> read(std::string text, std::string file) {
  auto modules = read_all(std::move(text), file);
  if (!modules) return modules.error();
  if (modules->size() != 1)
    return in_file(file, ErrorKind::input, fmt::format("there are {} modules where one was expected", modules->size()));
  return std::move(modules->front());
}

Result<std::string> read_bytes(const std::string& path) {
  return at_the_edge([&]() -> Result<std::string> {
    bool standard_input = path == "-";
    std::FILE* f = standard_input ? stdin : std::fopen(path.c_str(), "rb");
    if (!f) return in_file(path, ErrorKind::input, std::strerror(errno));
    struct Closer {
      std::FILE* file;
      ~Closer() { if (file != stdin) std::fclose(file); }
    } closer{f};
    std::string out;
    struct stat info {};
    bool regular = fstat(fileno(f), &info) == 0 && S_ISREG(info.st_mode);
    if (S_ISDIR(info.st_mode)) return in_file(path, ErrorKind::input, "this is a folder, a file was expected");
    if (regular && info.st_size > 0) {
      if (info.st_size >= INT64_C(1) << 40) return in_file(path, ErrorKind::memory, "the file is larger than 1 TiB");
      out.resize(static_cast<size_t>(info.st_size));
      out.resize(std::fread(out.data(), 1, out.size(), f));
    }
    char chunk[1 << 16];
    for (size_t n; (n = std::fread(chunk, 1, sizeof chunk, f)) > 0;) out.append(chunk, n);
    if (std::ferror(f)) return in_file(path, ErrorKind::io, std::strerror(errno));
    return out;
  });
}

Result<Module> read_file(const std::string& path) {
  auto bytes = read_bytes(path);
  if (!bytes) return bytes.error();
  return read(std::move(*bytes), path == "-" ? "<stdin>" : path);
}

Result<std::string> print(const Module& module, Format format) {
  return at_the_edge([&] {
    return format == Format::hlo ? ir::print_hlo(*module.ir()) : ir::print_stablehlo(*module.ir());
  });
}

Result<void> verify(const Module& module) {
  return at_the_edge([&] { return ir::verify(*module.ir()); });
}

bool equal(const Module& a, const Module& b, std::string* why) { return ir::equal(*a.ir(), *b.ir(), why); }

}  // namespace hloc
