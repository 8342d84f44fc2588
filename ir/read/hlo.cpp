// A module of HLO text: its header, the stack frame tables, and the frame around each computation.
#include "ir/read/hlo_reader.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "ir/print/print.h"
#include "ir/read/read.h"

namespace hloc::ir {
namespace {

constexpr std::string_view frame_tables[] = {"FileNames", "FunctionNames", "FileLocations", "StackFrames"};

bool is_frame_table(std::string_view word) {
  return std::find(std::begin(frame_tables), std::end(frame_tables), word) != std::end(frame_tables);
}

// Lines up to one that starts with '}': about the number of instructions of the computation that starts at `p`.
size_t lines_of_body(const char* p, const char* end, const char*& stop) {
  size_t lines = 0;
  while (p < end) {
    const void* found = std::memchr(p, '\n', static_cast<size_t>(end - p));
    if (!found) break;
    ++lines;
    p = static_cast<const char*>(found) + 1;
    if (p < end && *p == '}') break;
  }
  stop = p;
  return lines;
}

}  // namespace

HloReader::HloReader(SourceRef source, ContextRef context)
    : source_(std::move(source)), parts_(*source_, context), lex_(parts_.lex), context_(std::move(context)) {}

Result<ModuleRef> HloReader::read() {
  if (source_->text.size() >= UINT32_MAX) return error_at(*source_, {0, 0}, "texts of 4 GiB or more are not supported");
  context_->keep(source_);
  builder_.emplace(context_, "");
  if (!module() || lex_.failed()) return lex_.take_error();
  return builder_->finish(entry_);
}

bool HloReader::module() {
  bool has_header = lex_.peek_word() == "HloModule";
  if (has_header && !header()) return false;
  if (is_frame_table(lex_.peek_word()) && !stack_frames()) return false;
  if (!has_header) {
    if (lex_.at_end()) return lex_.fail_here("this is no HLO text: expected HloModule or a computation, found nothing");
    if (bare_instructions()) return true;
    if (lex_.failed()) return false;
  }
  do {
    if (!computation()) return false;
  } while (!lex_.at_end());
  if (!has_header) module_name_ = context_->string("module_" + std::string(entry_name_));
  builder_->set_name(module_name_);
  builder_->config() = std::move(config_);
  builder_->set_source(source_);
  return true;
}

bool HloReader::header() {
  lex_.accept_word("HloModule");
  if (!lex_.name(module_name_, "the module's name")) return false;
  lex_.accept(':');
  std::vector<std::string_view> seen;
  while (lex_.accept(',')) {
    std::string_view name = lex_.word();
    if (name.empty()) return lex_.expected("the name of a module attribute");
    parts_.attribute = name;
    if (std::find(seen.begin(), seen.end(), name) != seen.end())
      return lex_.fail_at(name, fmt::format("the attribute '{}' is given twice", name));
    seen.push_back(name);
    if (!read_module_attribute(parts_, config_)) return false;
  }
  return true;
}

// Kept as written, after a look at its form: `FileNames 1 "a.py" … StackFrames 1 {file_location_id=1 …}`.
bool HloReader::stack_frames() {
  uint32_t begin = lex_.offset(), end = begin;
  while (is_frame_table(lex_.peek_word())) {
    std::string_view table = lex_.word();
    bool texts = table == "FileNames" || table == "FunctionNames";
    end = lex_.raw_offset();
    int64_t id;
    while (HloLexer::is_digit(lex_.peek())) {
      if (!lex_.integer(id, "a number")) return false;
      if (texts) {
        std::string text;
        if (!lex_.quoted(text, "a name in quotes")) return false;
      } else {
        std::string_view text;
        if (!lex_.braced(text, "'{' and the fields of an entry")) return false;
      }
      end = lex_.raw_offset();
    }
  }
  config_.stack_frames = lex_.text(begin, end);
  return true;
}

// A file may also be just one computation's instructions. False without an error when it is something else.
bool HloReader::bare_instructions() {
  const char* before = lex_.cursor();
  lex_.accept_word("ROOT");
  std::string_view name;
  bool bare = (lex_.peek() == '%' || !lex_.peek_word().empty()) && lex_.name(name, "a name") && lex_.peek() == '=';
  lex_.seek(before);
  if (!bare) return false;
  scopes_.push_back(std::make_unique<HloScope>(context_, "main"));
  HloScope& scope = *scopes_.back();
  scope.at = lex_.next_loc();
  scope.is_entry = scope.is_bare = true;
  if (!scopes()) return false;
  if (!lex_.at_end()) return lex_.expected("an instruction");
  builder_->set_name("main");
  builder_->set_source(source_);
  return true;
}

bool HloReader::computation() {
  bool is_entry = lex_.accept_word("ENTRY");
  std::string_view name;
  if (lex_.peek_word() == "HloModule")
    return lex_.fail_here("a second module starts here; a file holds one, so put each into a file of its own");
  if (!lex_.name(name, is_entry ? "the name of the entry computation" : "a computation (its name and '{')")) return false;
  if (is_entry && entry_) return lex_.fail_at(name, fmt::format("a module has one ENTRY, which is '{}'", entry_name_));
  if (computations_.contains(name)) return lex_.fail_at(name, fmt::format("a computation '{}' exists already", name));
  scopes_.push_back(std::make_unique<HloScope>(context_, name));
  HloScope& scope = *scopes_.back();
  scope.at = lex_.loc_of(name);
  scope.is_entry = is_entry;
  if (!signature(scope)) return false;
  if (!lex_.expect('{', "'{' and the instructions of the computation")) return false;
  if (lex_.raw_offset() >= counted_until_) {
    const char* stop;
    constexpr size_t shortest = 16;  // bytes of a line with an instruction, so that empty lines ask for no memory
    size_t lines = lines_of_body(lex_.cursor(), lex_.end(), stop);
    lines = std::min(lines, static_cast<size_t>(stop - lex_.cursor()) / shortest);
    scope.builder.reserve(lines);
    scope.names.reserve(lines);
    counted_until_ = static_cast<uint32_t>(stop - source_->text.data());
  }
  return scopes();
}

// `(p: f32[2], q: s32[]) -> f32[2]`; only the result's type is used.
bool HloReader::signature(HloScope& scope) {
  if (!lex_.accept('(')) return true;
  if (!lex_.accept(')')) {
    do {
      std::string_view name;
      Type type;
      if (!lex_.name(name, "a parameter's name") || !lex_.expect(':', "':' and the parameter's type") || !parts_.types.read(type))
        return false;
    } while (lex_.accept(','));
    if (!lex_.expect(')', "',' or ')' after a parameter")) return false;
  }
  if (!lex_.accept("->")) return lex_.expected("'->' and the result's type");
  return parts_.types.read(scope.declared_result);
}

bool HloReader::scopes() {
  size_t bottom = scopes_.size() - 1;
  const Computation* closed = nullptr;  // an inline computation that the statement below waits for
  while (scopes_.size() > bottom) {
    HloScope& scope = *scopes_.back();
    Progress progress;
    if (closed) {
      progress = resume(scope, closed);
      closed = nullptr;
    } else if (lex_.peek() == '}' || (scope.builder.size() > 0 && lex_.at_end())) {
      bool is_inline = scope.is_inline;
      if (!close_scope()) return false;
      if (is_inline) closed = builder_->last();
      continue;
    } else {
      progress = statement(scope);
    }
    if (progress == Progress::failed) return false;
    if (progress == Progress::suspended && scopes_.size() > max_depth)
      return lex_.fail_here(fmt::format("computations are nested deeper than {} here, which is not supported", max_depth));
  }
  return true;
}

// At the closing brace of the innermost scope (or, for bare instructions, at the end of the text).
bool HloReader::close_scope() {
  HloScope& scope = *scopes_.back();
  if (scope.builder.size() == 0) return lex_.expected("an instruction; a computation has at least one");
  if (!scope.is_bare && !lex_.expect('}', "'}' after the last instruction of the computation")) return false;
  if (!check_parameters(scope) || !name_unnamed(scope)) return false;
  if (!scope.root) scope.root = scope.builder.instructions().back();
  if (scope.declared_result && !same_shape(scope.declared_result, scope.root->type, true))
    return lex_.fail(scope.at, fmt::format("the computation is declared to return {}, but its root '{}' has type {}",
                                           to_string(scope.declared_result), scope.builder.name(scope.root), to_string(scope.root->type)));
  if (!scope.is_inline && lex_.accept(',')) {
    if (!lex_.accept_word("execution_thread")) return lex_.expected("execution_thread=\"…\"");
    std::string thread;
    if (!lex_.expect('=', "'='") || !lex_.quoted(thread, "a thread's name in quotes")) return false;
    scope.builder.set_thread(thread);
  }
  if (!add_computation(scope)) return false;
  scopes_.pop_back();
  return true;
}

bool HloReader::add_computation(HloScope& scope) {
  if (scope.call_depth > max_depth)
    return lex_.fail(scope.at, fmt::format("computations call each other more than {} deep here, which is not supported", max_depth));
  size_t depth = scope.call_depth;
  bool is_entry = scope.is_entry, is_inline = scope.is_inline;
  const Computation* added = builder_->add(scope.builder.finish(scope.root, /*names_are_unique=*/true));
  call_depths_.emplace(added, depth);
  if (is_entry) entry_ = added;
  if (is_entry || !entry_) entry_name_ = added->name();
  if (!is_inline) computations_.emplace(added->name(), added);
  return true;
}

// Instructions written as operands have no names; they get one that no other has: `multiply.anon`, `multiply.anon.1`.
bool HloReader::name_unnamed(HloScope& scope) {
  std::unordered_map<std::string_view, size_t> next;
  for (Value v : scope.unnamed) {
    size_t& count = next[name_of(v->op)];
    std::string candidate;
    do {
      candidate = count == 0 ? fmt::format("{}.anon", name_of(v->op)) : fmt::format("{}.anon.{}", name_of(v->op), count);
      ++count;
    } while (scope.names.find(scope.builder, candidate));
    std::string_view kept = context_->string(candidate);
    scope.builder.set_name(v, kept);
    scope.names.insert(HloNames::hash_of(kept), v);
  }
  return true;
}

bool HloReader::check_parameters(const HloScope& scope) {
  auto numbers = scope.parameters;
  std::stable_sort(numbers.begin(), numbers.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 0; i < numbers.size(); ++i) {
    auto [number, text] = numbers[i];
    if (i > 0 && number == numbers[i - 1].first) return lex_.fail_at(text, fmt::format("parameter {} exists already", number));
    if (number != static_cast<int64_t>(i))
      return lex_.fail_at(text, fmt::format("parameter {} is missing; parameters are numbered from 0 without gaps", i));
  }
  return true;
}

// A name for a computation that has none, different from all that the text may define.
std::string_view HloReader::generated_name() {
  if (inline_prefix_.empty()) {
    for (size_t i = 1;; ++i) {
      inline_prefix_ = i == 1 ? "inline." : fmt::format("inline_{}.", i);
      if (source_->text.find(inline_prefix_) == std::string::npos) break;
    }
  }
  return context_->string(fmt::format("{}{}", inline_prefix_, ++inline_count_));
}

Result<ModuleRef> read_hlo(SourceRef source, ContextRef context) {
  return std::make_unique<HloReader>(std::move(source), std::move(context))->read();
}

}  // namespace hloc::ir
