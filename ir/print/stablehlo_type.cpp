// Types in StableHLO's spelling.
#include <fmt/format.h>

#include "ir/print/print.h"

namespace hloc::ir {
namespace {

std::string quant_text(const QuantParams& q) {
  std::string storage(mlir_name_of(q.storage));
  if (storage.starts_with("ui")) storage.erase(1, 1);
  std::string out = "!quant.uniform<" + storage;
  if (q.explicit_range) out += fmt::format("<{}:{}>", q.storage_min, q.storage_max);
  out += fmt::format(":{}", mlir_name_of(q.expressed));
  if (q.axis >= 0) out += fmt::format(":{}", q.axis);
  out += q.axis >= 0 ? ", {" : ", ";
  for (size_t i = 0; i < q.scales.size(); ++i) {
    if (i != 0) out += ", ";
    std::string scale = fmt::format("{}", q.scales[i]);
    if (scale.find_first_of(".e") == std::string::npos) scale += ".0";
    if (size_t e = scale.find('e'); e != std::string::npos && scale.find('.') == std::string::npos) scale.insert(e, ".0");
    out += scale;
    if (q.zero_points[i] != 0) out += fmt::format(":{}", q.zero_points[i]);
  }
  return out + (q.axis >= 0 ? "}>" : ">");
}

std::string array_text(Type type) {
  std::string out = "tensor<", bounds;
  bool bounded = false;
  for (const Dim& d : type.dims()) {
    out += d.is_static() ? fmt::format("{}x", d.size) : "?x";
    bounds += bounds.empty() ? "" : ", ";
    bounds += d.kind == Dim::bounded ? std::to_string(d.size) : "?";
    bounded |= d.kind == Dim::bounded;
  }
  out += type->quant ? quant_text(*type->quant) : std::string(mlir_name_of(type.element()));
  if (bounded) out += ", #stablehlo.bounds<" + bounds + ">";
  return out + ">";
}

}  // namespace

// Tuples nest as deep as the text did: a stack of what is left to write.
std::string mlir_type(Type type) {
  struct Item {
    Type type;           // null: the text
    const char* text = nullptr;
  };
  std::string out;
  std::vector<Item> left = {{type, nullptr}};
  while (!left.empty()) {
    Item item = left.back();
    left.pop_back();
    if (!item.type) {
      out += item.text ? item.text : "";
      continue;
    }
    switch (item.type.kind()) {
      case TypeKind::array: out += array_text(item.type); break;
      case TypeKind::token: out += "!stablehlo.token"; break;
      case TypeKind::opaque: out += "opaque"; break;  // in messages only
      case TypeKind::buffer:
      case TypeKind::future:
      case TypeKind::tuple: {
        bool tuple = item.type.is_tuple();
        out += tuple ? "tuple<" : item.type.kind() == TypeKind::future ? "!stablehlo.future<" : "memref<";
        left.push_back({Type(), ">"});
        for (size_t i = item.type.tuple_size(); i-- > 0;) {
          left.push_back({item.type.element_type(i), nullptr});
          if (i != 0) left.push_back({Type(), ", "});
        }
        break;
      }
    }
  }
  return out;
}

}  // namespace hloc::ir
