// One function per form of attribute value (ir/hlo_attributes.h): writes what stands after '='.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "ir/hlo_attributes.h"

namespace hloc::ir {

struct HloFormPrinter {
  std::string& out;
  int64_t elide_above;

  void print(form::Integer, int64_t value);
  void print(form::Integer, const std::optional<int64_t>& value);
  void print(form::Real, double value);
  void print(form::Flag, bool value);
  void print(form::Ints, const Ints& value);
  void print(form::OneInt, int64_t value);
  void print(form::IntLists, const std::vector<Ints>& value);
  void print(form::Quoted, std::string_view value);
  void print(form::Words, const std::vector<Precision>& value);
  void print(form::Braced, const std::string& value);
  void print(form::Accuracy, const ResultAccuracy& value);
  void print(form::Slices, const SliceAttr& value);
  void print(form::Padding, const PadAttr& value);
  void print(form::Windows, const Window& value);
  void print(form::Windows, const std::optional<Window>& value);
  void print(form::DimLabels, const ConvDims& value);
  void print(form::DimLabels, const std::optional<ConvDims>& value);
  void print(form::CollectiveDims, const CollectiveAttr& value);
  void print(form::Groups, const ReplicaGroups& value);
  void print(form::Aliases, const std::vector<OperandAlias>& value);
  void print(form::Shape, Type value);
  void print(form::Shapes, const std::optional<std::vector<Type>>& value);
  void print(form::Constant, const Literal& value);
  void print(form::DomainText, const std::string& value);
  void print(form::EntryLayout, const std::optional<ModuleConfig::EntryLayout>& value);
  void print(form::ModuleAliases, const std::vector<AliasEntry>& value);
  void print(form::Donors, const std::vector<DonorEntry>& value);
  void print(form::Flags, const std::vector<bool>& value);
  void print(form::Frontend, const FrontendAttributes& value);

  template <const auto& words>
  void print(form::OneOf<words>, const std::string& value) {
    out += value;
  }
  template <class E>
  void print(form::Word, E value) {
    out += HloWords<E>::list[static_cast<size_t>(value)];
  }
};

void append_sharding(std::string& out, const Sharding& sharding);
void append_iota_tile(std::string& out, const IotaTile& tile);
// `key="value"` or `key={…}`; no key: only the value.
void append_frontend_attribute(std::string& out, const FrontendAttribute& attribute);

}  // namespace hloc::ir
