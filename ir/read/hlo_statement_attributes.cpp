// The attributes of a statement: those of its op's struct, the called computations, and those that any op may have.
#include "ir/read/hlo_reader.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "ir/read/hlo_sharding.h"

namespace hloc::ir {

HloReader::Progress HloReader::attributes(HloScope& scope) {
  while (lex_.accept(',')) {
    Progress progress = attribute(scope);
    if (progress != Progress::done) return progress;
  }
  return Progress::done;
}

HloReader::Progress HloReader::attribute(HloScope& scope) {
  const HloOpen& open = scope.open.back();
  std::string_view name = lex_.word();
  if (name.empty()) return lex_.expected("the name of an attribute"), Progress::failed;
  auto twice = [&] {
    lex_.fail_at(name, fmt::format("the attribute '{}' is given twice", name));
    return Progress::failed;
  };
  bool own = open.async == AsyncPart::none || open.async == AsyncPart::start;  // else OP's attributes stand on its start
  if (own) {
    auto rows = hlo_rows(open.op);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i]->name != name) continue;
      if (scope.seen_rows & uint64_t{1} << i) return twice();
      scope.seen_rows |= uint64_t{1} << i;
      return own_attribute(scope, *rows[i]) ? Progress::done : Progress::failed;
    }
    for (size_t i = 0; i < std::size(hlo_callees); ++i) {
      const HloCallee& callee = hlo_callees[i];
      if (callee.name != name || !callee.ops->contains(open.op)) continue;
      if (scope.seen_callees & uint64_t{1} << i) return twice();
      scope.seen_callees |= uint64_t{1} << i;
      if (!lex_.expect('=', "'=' and a computation")) return Progress::failed;
      return callee_attribute(scope, callee);
    }
  }
  if (open.async != AsyncPart::none) {
    auto rows = hlo_rows(open.async == AsyncPart::start ? Op::AsyncStart : Op::AsyncDone);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i]->name != name) continue;
      if (scope.seen_rows & uint64_t{1} << (32 + i)) return twice();
      scope.seen_rows |= uint64_t{1} << (32 + i);
      Attr attr = std::move(scope.async);
      parts_.attribute = rows[i]->name;
      bool ok = lex_.expect('=', "'=' and a value") && rows[i]->read(parts_, attr);
      scope.async = std::move(get<AsyncAttr>(attr));
      return ok ? Progress::done : Progress::failed;
    }
  }
  bool known = true;
  if (common_attribute(scope, name, known)) return Progress::done;
  if (!known && !lex_.failed()) fail_unknown_attribute(scope, name);
  return Progress::failed;
}

// What follows '=': a short value with braces around it, or a word or number. Where it is more than that the extent is
// wrong, which is found when the value is read.
std::string_view HloReader::likely_value() {
  constexpr size_t most = 512;
  lex_.peek();
  const char* begin = lex_.cursor();
  const char* end = begin;
  if (*begin == '{') {
    const void* close = std::memchr(begin, '}', std::min(most, static_cast<size_t>(lex_.end() - begin)));
    if (close) end = static_cast<const char*>(close) + 1;
  } else {
    end = HloLexer::end_of_word(begin);
  }
  return {begin, static_cast<size_t>(end - begin)};
}

// An attribute of the op's own struct, whose name was read. It is interned at once when it is the last one and its text
// may come again.
bool HloReader::own_attribute(HloScope& scope, const HloAttributeRow& row) {
  parts_.attribute = row.name;
  if (!lex_.expect('=', "'=' and a value")) return false;
  Remembered<Attr, 512>::Key key{likely_value(), scope.known_attr, &row};
  if (const Attr* known = scope.known_attr ? value_texts_.find(key) : nullptr) {
    scope.known_attr = known;
    lex_.seek(key.text.data() + key.text.size());
    return true;
  }
  if (!row.read(parts_, written_attr(scope))) return false;
  if (!key.of || lex_.cursor() != key.text.data() + key.text.size() || own_attribute_follows(scope.open.back().op)) return true;
  scope.known_attr = context_->attr(std::move(scope.attr));
  value_texts_.keep(key, scope.known_attr);
  return true;
}

bool HloReader::own_attribute_follows(Op op) {
  const char* before = lex_.cursor();
  bool follows = false;
  if (lex_.accept(',')) {
    std::string_view name = lex_.peek_word();
    for (const HloAttributeRow* row : hlo_rows(op)) follows |= row->name == name;
  }
  lex_.seek(before);
  return follows;
}

bool HloReader::fail_unknown_attribute(const HloScope& scope, std::string_view name) {
  const HloOpen& open = scope.open.back();
  std::vector<std::string_view> names(std::begin(hlo_common_attributes), std::end(hlo_common_attributes));
  for (const HloAttributeRow* row : hlo_rows(open.op)) names.push_back(row->name);
  for (const HloCallee& callee : hlo_callees)
    if (callee.ops->contains(open.op)) names.push_back(callee.name);
  std::string_view near = nearest(name, names);
  return lex_.fail_at(name, fmt::format("'{}' has no attribute '{}'{}", open.opcode, name, suggestion(near)));
}

// Notes the text of an attribute that any op may have. `known` is false when there is no such attribute.
bool HloReader::common_attribute(HloScope& scope, std::string_view name, bool& known) {
  size_t i = 0;
  while (i < std::size(hlo_common_attributes) && hlo_common_attributes[i] != name) ++i;
  known = i < std::size(hlo_common_attributes);
  if (!known) return false;
  if (scope.seen_common & uint64_t{1} << i) return lex_.fail_at(name, fmt::format("the attribute '{}' is given twice", name));
  scope.seen_common |= uint64_t{1} << i;
  if (!lex_.expect('=', "'=' and a value")) return false;
  if (name == "metadata") return metadata_attribute(scope);
  uint32_t begin = lex_.offset();
  std::string_view text;
  if (lex_.peek() == '{') {
    if (!lex_.braced(text, "'{'")) return false;
  } else if (name != "backend_config") {
    return lex_.expected("'{'");
  } else if (std::string unused; !lex_.accept_plain_quoted(text) && !lex_.quoted(unused, "a string in quotes or braces")) {
    return false;
  }
  scope.common.push_back({i, lex_.text(begin, lex_.raw_offset())});
  return true;
}

// Reads the noted texts and gives what they say to `v`. Most computations repeat few of them.
bool HloReader::common_attributes(HloScope& scope, Value v) {
  constexpr size_t most_known = 4096;
  uint64_t hash = 0;
  for (const HloCommon& c : scope.common) hash = combine(hash + c.attribute, hash_short(c.value));
  auto known = scope.extras.find(hash);
  const Extras* extras = known != scope.extras.end() && known->second.common == scope.common ? known->second.extras : nullptr;
  if (!extras) {
    const char* after = lex_.cursor();
    Extras read;
    for (const HloCommon& c : scope.common) {
      if (!read_common(scope, c, read)) return false;
      if (lex_.cursor() != c.value.data() + c.value.size())
        return lex_.expected(fmt::format("the end of the value of '{}'", hlo_common_attributes[c.attribute]));
    }
    lex_.seek(after);
    if (read == Extras{}) return true;
    extras = scope.builder.keep_extras(std::move(read));
    if (scope.extras.size() < most_known) scope.extras[hash] = {scope.common, extras};
  }
  if (!extras->parameter_replication.empty()) {
    const std::string& text = extras->parameter_replication;
    auto flags = static_cast<size_t>(std::count(text.begin(), text.end(), ',')) + 1;
    if (size_t wanted = leaves(v->type).size(); flags != wanted)
      for (const HloCommon& c : scope.common)
        if (hlo_common_attributes[c.attribute] == "parameter_replication")
          return lex_.fail_at(c.value, fmt::format("the type has {} leaves, but {} are described", wanted, flags));
  }
  scope.builder.share_extras(v, extras);
  return true;
}

bool HloReader::read_common(HloScope& scope, const HloCommon& common, Extras& out) {
  std::string_view name = hlo_common_attributes[common.attribute];
  lex_.seek(common.value.data());
  parts_.attribute = name;
  if (name == "sharding") return read_sharding(lex_, out.sharding.emplace());
  if (name == "frontend_attributes") return read_form(parts_, form::Frontend{}, out.frontend_attributes);
  if (name == "backend_config") return read_text_or_braces(parts_, out.backend_config.emplace(), "a string in quotes or braces");
  if (name == "control-predecessors") return control_predecessors(scope, out);
  if (name == "statistics") return statistics(out);
  if (name == "origin") return read_form(parts_, form::Braced{}, out.origin);
  std::vector<bool> flags;
  if (!read_form(parts_, form::Flags{}, flags)) return false;
  for (bool flag : flags) out.parameter_replication += out.parameter_replication.empty() ? (flag ? "{true" : "{false") : (flag ? ",true" : ",false");
  if (!flags.empty()) out.parameter_replication += '}';
  return true;
}

// Instructions that stand together often have the same metadata.
bool HloReader::metadata_attribute(HloScope& scope) {
  if (lex_.peek() != '{') return lex_.expected("'{' and metadata");
  Remembered<Metadata, 256>::Key key{likely_value()};
  scope.metadata = metadata_texts_.find(key);
  if (scope.metadata) {
    lex_.seek(key.text.data() + key.text.size());
    return true;
  }
  Metadata metadata;
  if (!read_metadata(parts_, metadata)) return false;
  scope.metadata = context_->metadata(std::move(metadata));
  if (lex_.cursor() == key.text.data() + key.text.size()) metadata_texts_.keep(key, scope.metadata);
  return true;
}

bool HloReader::control_predecessors(HloScope& scope, Extras& out) {
  if (!lex_.expect('{', "'{' and names of instructions")) return false;
  if (lex_.accept('}')) return true;
  do {
    std::string_view name;
    if (!lex_.name(name, "the name of an instruction before this one")) return false;
    Value v = find_value(scope, name);
    if (!v) return fail_undefined(scope, name);
    out.control_predecessors.push_back(v);
  } while (lex_.accept(','));
  return lex_.expect('}', "',' or '}' after a name");
}

// {visualizing_index=0,name=0.5}
bool HloReader::statistics(Extras& out) {
  uint32_t begin = lex_.offset();
  if (!lex_.expect('{', "'{' and visualizing_index=0")) return false;
  bool first = true;
  do {
    std::string_view name = lex_.word();
    double value;
    if (name.empty() || (first && name != "visualizing_index")) {
      if (!name.empty()) return lex_.fail_at(name, "statistics start with visualizing_index");
      return lex_.expected("the name of a statistic");
    }
    first = false;
    if (!lex_.expect('=', "'=' and a number") || !lex_.real(value, "a number")) return false;
  } while (lex_.accept(','));
  if (!lex_.expect('}', "',' or '}' after a statistic")) return false;
  out.statistics = lex_.text(begin, lex_.raw_offset());
  return true;
}

HloReader::Progress HloReader::callee_attribute(HloScope& scope, const HloCallee& callee) {
  if (callee.slot >= 0) return callee_reference(scope, callee.slot);
  if (!lex_.expect('{', "'{' and computations")) return Progress::failed;
  if (lex_.accept('}')) return Progress::done;
  Progress progress = callee_reference(scope, -1);
  scope.in_callee_list = true;
  return progress == Progress::done ? callee_list(scope) : progress;
}

// After an entry of a list of computations.
HloReader::Progress HloReader::callee_list(HloScope& scope) {
  while (lex_.accept(',')) {
    Progress progress = callee_reference(scope, -1);
    if (progress != Progress::done) return progress;
  }
  scope.in_callee_list = false;
  return lex_.expect('}', "',' or '}' after a computation") ? Progress::done : Progress::failed;
}

// The name of a computation above, or one written in place.
HloReader::Progress HloReader::callee_reference(HloScope& scope, int slot) {
  if (lex_.peek() == '{') {
    scope.waiting_slot = slot;
    Loc at = lex_.next_loc();
    lex_.accept('{');
    scopes_.push_back(std::make_unique<HloScope>(context_, generated_name()));
    scopes_.back()->is_inline = true;
    scopes_.back()->at = at;
    return Progress::suspended;
  }
  std::string_view name;
  if (!lex_.name(name, "a computation's name, or one in braces")) return Progress::failed;
  auto it = computations_.find(name);
  if (it == computations_.end()) {
    std::vector<std::string_view> names;
    for (const auto& [known, unused] : computations_) names.push_back(known);
    std::string_view near = nearest(name, names);
    for (const auto& open : scopes_)
      if (open->builder.name() == name)
        return lex_.fail_at(name, fmt::format("the computation '{}' cannot call itself", name)), Progress::failed;
    bool later = lex_.defined_later(name, '{', false) || lex_.defined_later(name, '(', false);
    lex_.fail_at(name, later ? fmt::format("the computation '{}' is defined later; it must stand before those that call it", name)
                             : fmt::format("there is no computation '{}'{}", name, suggestion(near)));
    return Progress::failed;
  }
  put_callee(scope, slot, it->second);
  return Progress::done;
}

void HloReader::put_callee(HloScope& scope, int slot, const Computation* callee) {
  if (slot < 0) {
    scope.callees.push_back(callee);
    return;
  }
  if (scope.callees.size() <= static_cast<size_t>(slot)) scope.callees.resize(static_cast<size_t>(slot) + 1);
  scope.callees[static_cast<size_t>(slot)] = callee;
}

// After the last attribute: those that must be there are.
bool HloReader::check_attributes(HloScope& scope) {
  const HloOpen& open = scope.open.back();
  bool own = open.async == AsyncPart::none || open.async == AsyncPart::start;
  auto missing = [&](std::string_view name) {
    return lex_.fail_at(open.opcode, fmt::format("'{}' needs the attribute '{}'", open.opcode, name));
  };
  auto rows = hlo_rows(open.op);
  for (size_t i = 0; own && i < rows.size(); ++i)
    if (rows[i]->presence == HloPresence::required && !(scope.seen_rows & uint64_t{1} << i)) return missing(rows[i]->name);
  if (own && has(open.op, calls))
    for (size_t i = 0; i < std::size(hlo_callees); ++i)
      if (hlo_callees[i].required && hlo_callees[i].ops->contains(open.op) && !(scope.seen_callees & uint64_t{1} << i))
        return missing(hlo_callees[i].name);
  for (const Computation* callee : scope.callees)
    if (!callee) return missing("true_computation");
  if (holds<CustomCallAttr>(attr_of(scope))) {
    bool single = false, list = false;
    for (size_t i = 0; i < std::size(hlo_callees); ++i)
      if (hlo_callees[i].ops == &hlo_set::custom_call && (scope.seen_callees & uint64_t{1} << i)) (hlo_callees[i].slot < 0 ? list : single) = true;
    if (single && list) return lex_.fail_at(open.opcode, "'custom-call' has either to_apply or called_computations, not both");
    if (single) get<CustomCallAttr>(written_attr(scope)).single_callee = true;
  }
  return true;
}

}  // namespace hloc::ir
