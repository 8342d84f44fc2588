#include "src/commands/inputs.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/commands/error.h"
#include "src/commands/fill.h"
#include "src/commands/npy.h"

namespace hloc::cli {
namespace {

// "2 parameters (f32[8,100], f32[100])"
std::string parameters_text(std::span<const Shape> shapes) {
  std::string list;
  for (const Shape& s : shapes) list += (list.empty() ? "" : ", ") + to_string(s);
  if (shapes.empty()) return "no parameters";
  return fmt::format("{} parameter{} ({})", shapes.size(), shapes.size() == 1 ? "" : "s", list);
}

Result<std::vector<Bytes>> from_npy_files(const std::vector<std::string>& paths, std::span<const Shape> shapes) {
  std::vector<Bytes> out;
  for (size_t k = 0; k < shapes.size(); ++k) {
    auto file = read_bytes(paths[k]);
    if (!file) return file.error();
    auto array = parse_npy(std::move(*file), paths[k]);
    if (!array) return array.error();
    auto elements = to_elements(*array, shapes[k], paths[k]);
    if (!elements) return elements.error();
    out.push_back(std::move(*elements));
  }
  return out;
}

// "in3", "in3_f32", "arg3", "arr_3" → 3.
std::optional<size_t> member_number(std::string_view name) {
  for (std::string_view prefix : {"in", "arg", "arr_"}) {
    if (!name.starts_with(prefix)) continue;
    std::string_view rest = name.substr(prefix.size());
    size_t value = 0, digits = 0;
    while (digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9' && digits < 9) value = value * 10 + static_cast<size_t>(rest[digits++] - '0');
    if (digits > 0 && (digits == rest.size() || rest[digits] == '_')) return value;
  }
  return {};
}

Result<std::vector<Bytes>> from_npz_file(const std::string& path, std::span<const Shape> shapes) {
  auto file = read_bytes(path);
  if (!file) return file.error();
  auto members = parse_npz(*file, path);
  if (!members) return members.error();
  std::vector<const NpyArray*> chosen(shapes.size(), nullptr);
  bool numbered = false;
  for (const auto& [name, array] : *members) {
    auto number = member_number(name);
    if (!number) continue;
    numbered = true;
    if (*number < chosen.size()) chosen[*number] = &array;
  }
  size_t next = 0;
  if (!numbered)
    for (const auto& [name, array] : *members)
      if (next < chosen.size()) chosen[next++] = &array;
  std::vector<Bytes> out;
  for (size_t k = 0; k < shapes.size(); ++k) {
    if (!chosen[k]) return file_error(path, fmt::format("there is no member for parameter {} ({}); 'in{}' was expected", k, to_string(shapes[k]), k));
    auto elements = to_elements(*chosen[k], shapes[k], fmt::format("{} (parameter {})", path, k));
    if (!elements) return elements.error();
    out.push_back(std::move(*elements));
  }
  return out;
}

}  // namespace

Result<std::vector<Bytes>> gather_inputs(const InputArguments& a, std::span<const Shape> shapes) {
  if (!a.npz.empty()) return from_npz_file(a.npz, shapes);
  if (!a.npy.empty()) {
    if (a.npy.size() != shapes.size())
      return file_error("", fmt::format("the program has {}, but --input names {} file{}", parameters_text(shapes), a.npy.size(),
                                        a.npy.size() == 1 ? "" : "s"));
    return from_npy_files(a.npy, shapes);
  }
  if (!a.fill && !shapes.empty())
    return file_error("", fmt::format("the program has {}; give --input for each, --inputs F.npz, or --fill SEED", parameters_text(shapes)));
  try {
    std::vector<Bytes> out;
    for (size_t k = 0; k < shapes.size(); ++k) out.push_back(fill_default(shapes[k], *a.fill + k));
    return out;
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  return file_error("", "there is not enough memory for the inputs", ErrorKind::memory);
}

uint64_t checksum(std::span<const std::byte> bytes) {
  uint64_t h = 0xcbf29ce484222325u;
  for (std::byte b : bytes) h = (h ^ static_cast<uint8_t>(b)) * 0x100000001b3u;
  return h;
}

std::string show_array(const Shape& shape, std::span<const std::byte> bytes) {
  constexpr int64_t edge = 3, all = 64;
  auto width = static_cast<size_t>(byte_width(shape.element));
  bool abbreviated = shape.count() > all;
  std::string out;
  if (shape.count() == 0) return "{}";
  if (shape.dims.empty()) return element_text(shape.element, bytes.data());
  // Walks the index space; in an abbreviated array the middle of each long dimension is skipped.
  size_t rank = shape.dims.size();
  std::vector<int64_t> index(rank, 0);
  auto open = [&](size_t from) { out.append(rank - from, '{'); };
  open(0);
  for (;;) {
    int64_t flat = 0;
    for (size_t d = 0; d < rank; ++d) flat = flat * shape.dims[d] + index[d];
    out += element_text(shape.element, bytes.data() + static_cast<size_t>(flat) * width);
    size_t d = rank;
    size_t closed = 0;
    bool skipped = false;
    for (; d-- > 0;) {
      ++index[d];
      if (abbreviated && shape.dims[d] > 2 * edge && index[d] == edge) index[d] = shape.dims[d] - edge, skipped = true;
      if (index[d] < shape.dims[d]) break;
      index[d] = 0;
      skipped = false;
      ++closed;
    }
    out.append(closed, '}');
    if (closed == rank) return out;
    out += skipped ? ", ..., " : ", ";
    if (closed > 0) {
      out += "\n";
      out.append(rank - closed + 2, ' ');
      open(rank - closed);
    }
  }
}

std::vector<std::span<const std::byte>> input_spans(const std::vector<Bytes>& buffers) {
  return {buffers.begin(), buffers.end()};
}
std::vector<std::span<std::byte>> output_spans(std::vector<Bytes>& buffers) { return {buffers.begin(), buffers.end()}; }

Result<std::vector<Bytes>> make_outputs(std::span<const Shape> shapes) {
  try {
    std::vector<Bytes> out;
    for (const Shape& s : shapes) out.emplace_back(s.bytes());
    return out;
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  return file_error("", "there is not enough memory for the results", ErrorKind::memory);
}

}  // namespace hloc::cli
