// One function per form of attribute value (ir/hlo_attributes.h). Each reads what stands after '='.
#pragma once

#include <algorithm>
#include <span>
#include <string>

#include <fmt/format.h>

#include "ir/graph.h"
#include "ir/hlo_attributes.h"
#include "ir/read/hlo_type.h"
#include "ir/read/lexer.h"

namespace hloc::ir {

// What every part of the HLO reader needs.
struct HloParts {
  HloParts(const Source& source, ContextRef shared) : lex(source), context(std::move(shared)), types(lex, *context) {}

  HloLexer lex;
  ContextRef context;
  HloTypeReader types;
  std::string_view attribute;  // the name of the one being read
};

bool read_form(HloParts& parts, form::Integer, int64_t& out);
bool read_form(HloParts& parts, form::Integer, std::optional<int64_t>& out);
bool read_form(HloParts& parts, form::Real, double& out);
bool read_form(HloParts& parts, form::Flag, bool& out);
bool read_form(HloParts& parts, form::Ints, Ints& out);
bool read_form(HloParts& parts, form::OneInt, int64_t& out);
bool read_form(HloParts& parts, form::IntLists, std::vector<Ints>& out);
bool read_form(HloParts& parts, form::Quoted, std::string& out);
bool read_form(HloParts& parts, form::Quoted, KeptText& out);
bool read_form(HloParts& parts, form::Words, std::vector<Precision>& out);
bool read_form(HloParts& parts, form::Braced, std::string& out);
bool read_form(HloParts& parts, form::Accuracy, ResultAccuracy& out);
bool read_form(HloParts& parts, form::Slices, SliceAttr& out);
bool read_form(HloParts& parts, form::Padding, PadAttr& out);
bool read_form(HloParts& parts, form::Windows, Window& out);
bool read_form(HloParts& parts, form::Windows, std::optional<Window>& out);
bool read_form(HloParts& parts, form::DimLabels, ConvDims& out);
bool read_form(HloParts& parts, form::DimLabels, std::optional<ConvDims>& out);
bool read_form(HloParts& parts, form::CollectiveDims, CollectiveAttr& out);
bool read_form(HloParts& parts, form::Groups, ReplicaGroups& out);
bool read_form(HloParts& parts, form::Aliases, std::vector<OperandAlias>& out);
bool read_form(HloParts& parts, form::Shape, Type& out);
bool read_form(HloParts& parts, form::Shapes, std::optional<std::vector<Type>>& out);
bool read_form(HloParts& parts, form::Constant, Literal& out);
bool read_form(HloParts& parts, form::DomainText, std::string& out);
bool read_form(HloParts& parts, form::EntryLayout, std::optional<ModuleConfig::EntryLayout>& out);
bool read_form(HloParts& parts, form::ModuleAliases, std::vector<AliasEntry>& out);
bool read_form(HloParts& parts, form::Donors, std::vector<DonorEntry>& out);
bool read_form(HloParts& parts, form::Flags, std::vector<bool>& out);
bool read_form(HloParts& parts, form::Frontend, FrontendAttributes& out);
bool read_form(HloParts& parts, form::Unknown, std::vector<std::pair<std::string, std::string>>& out);

// The position of the next word in `words`; says what they are when it is none of them.
bool read_one_of(HloParts& parts, std::span<const std::string_view> words, size_t& out);

template <const auto& words>
bool read_form(HloParts& parts, form::OneOf<words>, std::string& out) {
  size_t i;
  if (!read_one_of(parts, words, i)) return false;
  out = words[i];
  return true;
}

template <class E>
bool read_form(HloParts& parts, form::Word, E& out) {
  size_t i;
  if (!read_one_of(parts, HloWords<E>::list, i)) return false;
  out = static_cast<E>(i);
  return true;
}

// "text" or {…}; `braced` tells which.
bool read_text_or_braces(HloParts& parts, FrontendAttribute& out, std::string_view what);

}  // namespace hloc::ir
