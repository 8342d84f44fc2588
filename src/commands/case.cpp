#include "src/commands/case.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/commands/error.h"
#include "src/commands/fill.h"
#include "src/commands/npy.h"
#include "src/commands/tolerance.h"

namespace hloc::cli {
namespace {

using nlohmann::json;

ElementType element_type_named(std::string_view name) {
#define HLOC_X(type, bits, mlir, npy) \
  if (name == #type) return ElementType::type;
  HLOC_ELEMENT_TYPES(HLOC_X)
#undef HLOC_X
  return ElementType::invalid;
}

// Throws json::exception on a missing or wrong member; the caller turns that into a Diagnostic.
CaseArray parse_case_array(const json& j) {
  CaseArray a;
  a.shape.element = element_type_named(j.at("dtype").get<std::string>());
  a.shape.dims = j.at("shape").get<std::vector<int64_t>>();
  a.every = j.value("every", int64_t{1});
  if (j.contains("file")) {
    a.file = j.at("file").get<std::string>();
    return a;
  }
  const json& fill = j.at("fill");
  a.fill = fill.at("kind").get<std::string>();
  a.seed = fill.value("seed", uint64_t{0});
  a.lo = fill.value("lo", 0.0);
  a.hi = fill.value("hi", 0.0);
  a.value = fill.value("value", 0.0);
  return a;
}

CaseInstance parse_instance(const json& j) {
  CaseInstance out;
  for (const json& a : j.at("inputs")) out.inputs.push_back(parse_case_array(a));
  for (const json& a : j.at("outputs")) out.outputs.push_back(parse_case_array(a));
  return out;
}

}  // namespace

Result<Case> read_case(const std::string& folder) {
  std::string path = folder + "/case.json";
  auto text = read_bytes(path);
  if (!text) return text.error();
  json j = json::parse(*text, nullptr, false);
  if (j.is_discarded()) return file_error(path, "this is not JSON");
  Case out;
  out.folder = folder;
  try {
    out.rtol = j.value("rtol", 0.0);
    out.atol = j.value("atol", 0.0);
    out.mismatch_fraction = j.value("mismatch_fraction", 0.0);
    if (j.contains("instances"))
      for (const json& i : j.at("instances")) out.instances.push_back(parse_instance(i));
    else
      out.instances.push_back(parse_instance(j));
  } catch (const json::exception& e) {
    return file_error(path, fmt::format("a member is missing or of the wrong type: {}", e.what()));
  }
  for (const CaseInstance& i : out.instances)
    for (const auto* list : {&i.inputs, &i.outputs})
      for (const CaseArray& a : *list)
        if (a.shape.element == ElementType::invalid || a.every < 1)
          return file_error(path, "an array has an unknown dtype or a bad 'every'");
  return out;
}

Result<std::vector<Bytes>> case_inputs(const Case& c, const CaseInstance& instance) {
  std::vector<Bytes> out;
  for (const CaseArray& a : instance.inputs) {
    if (!a.file.empty()) {
      std::string path = c.folder + "/" + a.file;
      auto file = read_bytes(path);
      if (!file) return file.error();
      auto array = parse_npy(std::move(*file), path);
      if (!array) return array.error();
      auto elements = to_elements(*array, a.shape, path);
      if (!elements) return elements.error();
      out.push_back(std::move(*elements));
    } else if (a.fill == "uniform") {
      out.push_back(fill_uniform(a.shape, a.seed, a.lo, a.hi));
    } else if (a.fill == "randint") {
      out.push_back(fill_integers(a.shape, a.seed, static_cast<int64_t>(a.lo), static_cast<int64_t>(a.hi)));
    } else if (a.fill == "zeros" || a.fill == "const") {
      out.push_back(fill_constant(a.shape, a.fill == "zeros" ? 0 : a.value));
    } else {
      return file_error(c.folder + "/case.json", fmt::format("'{}' is no fill that hloc knows", a.fill));
    }
  }
  return out;
}

namespace {

// The first wrong element beyond what the case allows to be wrong.
Result<std::optional<std::string>> compare_one(const Case& c, const CaseArray& want, size_t k, const Shape& shape, const Bytes& result) {
  if (shape.element != want.shape.element || shape.dims != want.shape.dims)
    return std::optional(fmt::format("out{} is {}, {} was expected", k, to_string(shape), to_string(want.shape)));
  std::string path = c.folder + "/" + want.file;
  auto file = read_bytes(path);
  if (!file) return file.error();
  auto array = parse_npy(std::move(*file), path);
  if (!array) return array.error();
  Shape stored = want.shape;
  if (want.every > 1) stored.dims = {(want.shape.count() + want.every - 1) / want.every};
  auto elements = to_elements(*array, stored, path);
  if (!elements) return elements.error();
  return first_difference(k, shape, result, *elements, {{c.rtol, c.atol}, c.mismatch_fraction, want.every});
}

}  // namespace

Result<std::optional<std::string>> compare_outputs(const Case& c, const CaseInstance& instance, std::span<const Shape> shapes,
                                                   const std::vector<Bytes>& results) {
  if (shapes.size() != instance.outputs.size())
    return std::optional(fmt::format("the program has {} results, {} were expected", shapes.size(), instance.outputs.size()));
  for (size_t k = 0; k < shapes.size(); ++k) {
    auto difference = compare_one(c, instance.outputs[k], k, shapes[k], results[k]);
    if (!difference || *difference) return difference;
  }
  return std::optional<std::string>();
}

}  // namespace hloc::cli
