#include "ir/print/hlo_forms.h"

#include <charconv>

#include "ir/literal_text.h"
#include "ir/print/hlo_text.h"

namespace hloc::ir {
namespace {

void append_hlo_numbers(std::string& out, char open, const Ints& numbers, char close) {
  out += open;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) out += ',';
    append_integer(out, numbers[i]);
  }
  out += close;
}

// A text for each entry, with `separator` between them.
template <class List, class F>
void append_hlo_separated(std::string& out, const List& list, std::string_view separator, F&& entry) {
  bool first = true;
  for (const auto& item : list) {
    if (!first) out += separator;
    first = false;
    entry(item);
  }
}

void append_hlo_real(std::string& out, double value) {
  append_element(out, ElementType::f64, reinterpret_cast<const std::byte*>(&value));
}

// One part of window={…}, left out when every dimension has the usual value.
template <class Get, class Put>
void append_window_part(std::string& out, const Window& window, std::string_view name, Get&& unusual, Put&& put) {
  bool any = false;
  for (const WindowDim& d : window) any |= unusual(d);
  if (!any) return;
  if (out.back() != '{') out += ' ';
  out += name;
  out += '=';
  append_hlo_separated(out, window, "x", put);
}

void append_labels(std::string& out, size_t rank, char letter_a, int64_t a, char letter_b, int64_t b, const Ints& spatial) {
  std::string labels(rank, '?');
  auto put = [&](int64_t at, char c) {
    if (at >= 0 && static_cast<size_t>(at) < rank) labels[static_cast<size_t>(at)] = c;
  };
  put(a, letter_a);
  put(b, letter_b);
  for (size_t i = 0; i < spatial.size(); ++i) put(spatial[i], static_cast<char>('0' + i));
  out += labels;
}

}  // namespace

void append_iota_tile(std::string& out, const IotaTile& tile) {
  append_hlo_numbers(out, '[', tile.dims, ']');
  out += "<=";
  append_hlo_numbers(out, '[', tile.reshape, ']');
  if (tile.transpose.empty()) return;
  out += 'T';
  append_hlo_numbers(out, '(', tile.transpose, ')');
}

void append_sharding(std::string& out, const Sharding& s) {
  out += '{';
  switch (s.kind) {
    case Sharding::tuple:
      append_hlo_separated(out, s.parts, ", ", [&](const Sharding& part) { append_sharding(out, part); });
      break;
    case Sharding::named: out += s.named_text; break;
    case Sharding::tiled:
      out += "devices=";
      if (s.is_iota) {
        append_iota_tile(out, s.iota);
      } else {
        append_hlo_numbers(out, '[', s.tile, ']');
        append_hlo_separated(out, s.devices, ",", [&](int64_t device) { append_integer(out, device); });
      }
      break;
    case Sharding::replicated:
    case Sharding::maximal:
    case Sharding::manual:
    case Sharding::unknown:
    case Sharding::unreduced: out += HloWords<Sharding::Kind>::list[s.kind]; break;
  }
  if (s.kind == Sharding::maximal) {
    out += " device=";
    append_integer(out, s.device);
  }
  if (s.replicate_last) out += " last_tile_dim_replicate";
  if (!s.last_tile_dims.empty()) {
    out += " last_tile_dims={";
    append_hlo_separated(out, s.last_tile_dims, ", ", [&](Sharding::Kind kind) { out += HloWords<Sharding::Kind>::list[kind]; });
    out += '}';
  }
  if (s.shard_as >= 0) {
    out += " shard_as ";
    append_integer(out, s.shard_as);
  }
  if (s.shard_like >= 0) {
    out += " shard_like ";
    append_integer(out, s.shard_like);
  }
  if (!s.metadata.empty()) {
    out += " metadata=";
    out += s.metadata;
  }
  out += '}';
}

void append_frontend_attribute(std::string& out, const FrontendAttribute& attribute) {
  if (!attribute.key.empty()) {
    out += attribute.key;
    out += '=';
  }
  if (attribute.braced) out += attribute.value;
  else append_quoted(out, attribute.value);
}

void HloFormPrinter::print(form::Integer, int64_t value) { append_integer(out, value); }
void HloFormPrinter::print(form::Integer, const std::optional<int64_t>& value) { append_integer(out, *value); }
void HloFormPrinter::print(form::Real, double value) { append_hlo_real(out, value); }
void HloFormPrinter::print(form::Flag, bool value) { out += value ? "true" : "false"; }
void HloFormPrinter::print(form::Ints, const Ints& value) { append_hlo_numbers(out, '{', value, '}'); }
void HloFormPrinter::print(form::OneInt, int64_t value) { append_hlo_numbers(out, '{', {value}, '}'); }

void HloFormPrinter::print(form::IntLists, const std::vector<Ints>& value) {
  out += '{';
  append_hlo_separated(out, value, ",", [&](const Ints& list) { append_hlo_numbers(out, '{', list, '}'); });
  out += '}';
}

void HloFormPrinter::print(form::Quoted, std::string_view value) { append_quoted(out, value); }

void HloFormPrinter::print(form::Words, const std::vector<Precision>& value) {
  out += '{';
  append_hlo_separated(out, value, ",", [&](Precision p) { print(form::Word{}, p); });
  out += '}';
}

void HloFormPrinter::print(form::Braced, const std::string& value) { out += value; }

void HloFormPrinter::print(form::Accuracy, const ResultAccuracy& value) {
  if (value.mode != AccuracyMode::tolerance) {
    out += "{mode=";
    print(form::Word{}, value.mode);
    out += '}';
    return;
  }
  out += "{tolerance={atol=";
  append_hlo_real(out, value.atol);
  out += ",rtol=";
  append_hlo_real(out, value.rtol);
  out += ",ulps=";
  append_integer(out, value.ulps);
  out += "}}";
}

void HloFormPrinter::print(form::Slices, const SliceAttr& value) {
  out += '{';
  for (size_t i = 0; i < value.start.size(); ++i) {
    out += i > 0 ? ", [" : "[";
    append_integer(out, value.start[i]);
    out += ':';
    append_integer(out, value.limit[i]);
    if (value.stride[i] != 1) {
      out += ':';
      append_integer(out, value.stride[i]);
    }
    out += ']';
  }
  out += '}';
}

void HloFormPrinter::print(form::Padding, const PadAttr& value) {
  bool interior = false;
  for (int64_t i : value.interior) interior |= i != 0;
  for (size_t i = 0; i < value.low.size(); ++i) {
    if (i > 0) out += 'x';
    append_integer(out, value.low[i]);
    out += '_';
    append_integer(out, value.high[i]);
    if (!interior) continue;
    out += '_';
    append_integer(out, value.interior[i]);
  }
}

void HloFormPrinter::print(form::Windows, const Window& value) {
  auto put = [&](int64_t WindowDim::* member) { return [this, member](const WindowDim& d) { append_integer(out, d.*member); }; };
  auto differs = [](int64_t WindowDim::* member) { return [member](const WindowDim& d) { return d.*member != 1; }; };
  out += '{';
  append_window_part(out, value, "size", [](const WindowDim&) { return true; }, put(&WindowDim::size));
  append_window_part(out, value, "stride", differs(&WindowDim::stride), put(&WindowDim::stride));
  append_window_part(
      out, value, "pad", [](const WindowDim& d) { return d.pad_low != 0 || d.pad_high != 0; },
      [this](const WindowDim& d) {
        append_integer(out, d.pad_low);
        out += '_';
        append_integer(out, d.pad_high);
      });
  append_window_part(out, value, "lhs_dilate", differs(&WindowDim::lhs_dilate), put(&WindowDim::lhs_dilate));
  append_window_part(out, value, "rhs_dilate", differs(&WindowDim::rhs_dilate), put(&WindowDim::rhs_dilate));
  append_window_part(out, value, "rhs_reversal", [](const WindowDim& d) { return d.reversal; },
                     [this](const WindowDim& d) { out += d.reversal ? '1' : '0'; });
  out += '}';
}

void HloFormPrinter::print(form::Windows, const std::optional<Window>& value) { print(form::Windows{}, *value); }

void HloFormPrinter::print(form::DimLabels, const ConvDims& d) {
  size_t rank = d.input_spatial.size() + 2;
  append_labels(out, rank + d.input_unknown.size(), 'b', d.input_batch, 'f', d.input_feature, d.input_spatial);
  out += '_';
  append_labels(out, rank + d.kernel_unknown.size(), 'i', d.kernel_input_feature, 'o', d.kernel_output_feature, d.kernel_spatial);
  out += "->";
  append_labels(out, rank + d.output_unknown.size(), 'b', d.output_batch, 'f', d.output_feature, d.output_spatial);
}

void HloFormPrinter::print(form::DimLabels, const std::optional<ConvDims>& value) { print(form::DimLabels{}, *value); }

void HloFormPrinter::print(form::CollectiveDims, const CollectiveAttr& value) {
  append_hlo_numbers(out, '{', value.has_dims ? value.dims : Ints{value.split_dim}, '}');
}

void HloFormPrinter::print(form::Groups, const ReplicaGroups& value) {
  switch (value.kind) {
    case ReplicaGroups::absent: break;
    case ReplicaGroups::list: print(form::IntLists{}, value.groups); break;
    case ReplicaGroups::iota: append_iota_tile(out, value.tile); break;
    case ReplicaGroups::mesh: out += value.mesh_text; break;
  }
}

void HloFormPrinter::print(form::Aliases, const std::vector<OperandAlias>& value) {
  out += '{';
  append_hlo_separated(out, value, ", ", [&](const OperandAlias& a) {
    append_hlo_numbers(out, '{', a.output, '}');
    out += ": (";
    append_integer(out, a.operand);
    out += ", ";
    append_hlo_numbers(out, '{', a.index, '}');
    out += ')';
  });
  out += '}';
}

void HloFormPrinter::print(form::Shape, Type value) { append_type(out, value); }

void HloFormPrinter::print(form::Shapes, const std::optional<std::vector<Type>>& value) {
  out += '{';
  append_hlo_separated(out, *value, ", ", [&](Type type) { append_type(out, type); });
  out += '}';
}

void HloFormPrinter::print(form::Constant, const Literal& value) { append_typed_literal(out, value, elide_above); }
void HloFormPrinter::print(form::DomainText, const std::string& value) { out += value; }

void HloFormPrinter::print(form::EntryLayout, const std::optional<ModuleConfig::EntryLayout>& value) {
  out += "{(";
  append_hlo_separated(out, value->parameters, ", ", [&](Type type) { append_type(out, type); });
  out += ")->";
  append_type(out, value->result);
  out += '}';
}

void HloFormPrinter::print(form::ModuleAliases, const std::vector<AliasEntry>& value) {
  out += "{ ";
  append_hlo_separated(out, value, ", ", [&](const AliasEntry& a) {
    append_hlo_numbers(out, '{', a.output, '}');
    out += ": (";
    append_integer(out, a.parameter);
    out += ", ";
    append_hlo_numbers(out, '{', a.index, '}');
    if (a.kind_written) out += a.must_alias ? ", must-alias" : ", may-alias";
    out += ')';
  });
  out += " }";
}

void HloFormPrinter::print(form::Donors, const std::vector<DonorEntry>& value) {
  out += "{ ";
  append_hlo_separated(out, value, ", ", [&](const DonorEntry& d) {
    out += '(';
    append_integer(out, d.parameter);
    out += ", ";
    append_hlo_numbers(out, '{', d.index, '}');
    out += ')';
  });
  out += " }";
}

void HloFormPrinter::print(form::Flags, const std::vector<bool>& value) {
  out += '{';
  append_hlo_separated(out, value, ",", [&](bool flag) { out += flag ? "true" : "false"; });
  out += '}';
}

void HloFormPrinter::print(form::Frontend, const FrontendAttributes& value) {
  out += '{';
  append_hlo_separated(out, value, ",", [&](const FrontendAttribute& a) { append_frontend_attribute(out, a); });
  out += '}';
}

}  // namespace hloc::ir
