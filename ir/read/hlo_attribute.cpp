#include "ir/read/hlo_attribute.h"

namespace hloc::ir {
namespace {

constexpr HloAttributeRow hlo_attribute_rows[] = {
#define HLOC_HLO_ATTRIBUTE(Struct, text, member, form_type, presence, ops)                     \
  {text, HloPresence::presence, &hlo_set::ops, attr_index<Struct>(), [](HloParts& p, Attr& attr) { \
     auto& a = get<Struct>(attr);                                                         \
     return read_form(p, form_type{}, member);                                                 \
   }},
#define HLOC_HLO_METADATA(text, member, form_type)
#define HLOC_HLO_MODULE(text, member, form_type)
#include "ir/hlo_attributes.def"
#undef HLOC_HLO_ATTRIBUTE
#undef HLOC_HLO_METADATA
#undef HLOC_HLO_MODULE
};

template <class T>
struct HloMemberRow {
  std::string_view name;
  bool (*read)(HloParts& parts, T& a);
};

constexpr HloMemberRow<Metadata> hlo_metadata_rows[] = {
#define HLOC_HLO_ATTRIBUTE(Struct, text, member, form_type, presence, ops)
#define HLOC_HLO_METADATA(text, member, form_type) \
  {text, [](HloParts& p, Metadata& a) { return read_form(p, form_type{}, member); }},
#define HLOC_HLO_MODULE(text, member, form_type)
#include "ir/hlo_attributes.def"
#undef HLOC_HLO_ATTRIBUTE
#undef HLOC_HLO_METADATA
#undef HLOC_HLO_MODULE
};

constexpr HloMemberRow<ModuleConfig> hlo_module_rows[] = {
#define HLOC_HLO_ATTRIBUTE(Struct, text, member, form_type, presence, ops)
#define HLOC_HLO_METADATA(text, member, form_type)
#define HLOC_HLO_MODULE(text, member, form_type) \
  {text, [](HloParts& p, ModuleConfig& a) { return read_form(p, form_type{}, member); }},
#include "ir/hlo_attributes.def"
#undef HLOC_HLO_ATTRIBUTE
#undef HLOC_HLO_METADATA
#undef HLOC_HLO_MODULE
};

// Reads the value of the row called `name`; says which names there are when there is none.
template <class T, size_t N>
bool read_hlo_member(HloParts& parts, const HloMemberRow<T> (&rows)[N], std::string_view name, std::string_view where, T& out) {
  std::array<std::string_view, N> names;
  for (size_t i = 0; i < N; ++i) {
    names[i] = rows[i].name;
    if (rows[i].name != name) continue;
    parts.attribute = rows[i].name;
    return parts.lex.expect('=', "'=' and a value") && rows[i].read(parts, out);
  }
  std::string_view near = nearest(name, names);
  return parts.lex.fail_at(name, fmt::format("{} has no '{}'{}", where, name, suggestion(near)));
}

}  // namespace

Attr default_attr(Op op) {
  static constexpr Attr (*make[])() = {
#define HLOC_OP(Name, hlo, stablehlo, min, max, attr, traits) [] { return Attr(attr{}); },
#include "ir/ops.def"
#undef HLOC_OP
  };
  return make[static_cast<size_t>(op)]();
}

std::span<const HloAttributeRow* const> hlo_rows(Op op) {
  static const auto by_op = [] {
    std::vector<std::vector<const HloAttributeRow*>> table(all_ops().size());
    for (size_t i = 0; i < table.size(); ++i) {
      size_t attr = default_attr(static_cast<Op>(i)).index();
      for (const HloAttributeRow& row : hlo_attribute_rows)
        if (row.attr == attr && row.ops->contains(static_cast<Op>(i))) table[i].push_back(&row);
    }
    return table;
  }();
  return by_op[static_cast<size_t>(op)];
}

bool read_metadata(HloParts& parts, Metadata& out) {
  HloLexer& lex = parts.lex;
  if (!lex.expect('{', "'{' and metadata such as op_name=\"add\"")) return false;
  while (!lex.accept('}')) {
    std::string_view name = lex.word();
    if (name.empty()) return lex.expected("the name of a metadata field or '}'");
    if (!read_hlo_member(parts, hlo_metadata_rows, name, "metadata", out)) return false;
    lex.accept(',');
  }
  return true;
}

bool read_module_attribute(HloParts& parts, ModuleConfig& out) {
  return read_hlo_member(parts, hlo_module_rows, parts.attribute, "the header of a module", out);
}

}  // namespace hloc::ir
