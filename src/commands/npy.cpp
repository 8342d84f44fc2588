#include "src/commands/npy.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <zlib.h>

#include "src/commands/error.h"

namespace hloc::cli {
namespace {

// The value of `key` in the header's Python dictionary, as text up to the ',' or '}' that ends it.
std::optional<std::string> npy_field(std::string_view header, std::string_view key) {
  size_t at = header.find(fmt::format("'{}'", key));
  if (at == std::string_view::npos) return {};
  at = header.find(':', at);
  if (at == std::string_view::npos) return {};
  ++at;
  while (at < header.size() && header[at] == ' ') ++at;
  size_t end = at;
  int depth = 0;
  for (; end < header.size(); ++end) {
    char c = header[end];
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (depth == 0 && (c == ',' || c == '}')) break;
  }
  return std::string(header.substr(at, end - at));
}

std::string npy_unquoted(const std::string& s) {
  return s.size() >= 2 && (s.front() == '\'' || s.front() == '"') ? s.substr(1, s.size() - 2) : s;
}

// "(2, 3)" → {2, 3}; nothing when it is no such tuple or a size is absurd.
std::optional<std::vector<int64_t>> npy_dims(std::string_view text) {
  std::vector<int64_t> dims;
  size_t i = text.find('(');
  if (i == std::string_view::npos) return {};
  for (++i; i < text.size() && text[i] != ')';) {
    if (text[i] == ' ' || text[i] == ',' || text[i] == 'L') {
      ++i;
      continue;
    }
    int64_t value = 0;
    size_t digits = 0;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9' && digits < 18; ++i, ++digits) value = value * 10 + (text[i] - '0');
    if (digits == 0 || digits == 18) return {};
    dims.push_back(value);
  }
  return dims;
}

// Width in bytes of one element of a descriptor; 0: unknown.
size_t npy_width(const std::string& descr) {
  if (descr == "bfloat16") return 2;
  if (descr.starts_with("float8") || descr == "int4" || descr == "uint4" || descr == "int2" || descr == "uint2" ||
      descr.starts_with("float4") || descr.starts_with("float6"))
    return 1;
  if (descr.size() < 3 || (descr[0] != '<' && descr[0] != '|' && descr[0] != '=')) return 0;
  size_t width = 0;
  for (char c : descr.substr(2)) {
    if (c < '0' || c > '9' || width > 100) return 0;
    width = width * 10 + static_cast<size_t>(c - '0');
  }
  return std::strchr("biufcV", descr[1]) ? width : 0;
}

void from_fortran_order(NpyArray& array, size_t width) {
  std::string out(array.bytes.size(), '\0');
  size_t rank = array.dims.size(), count = array.bytes.size() / std::max<size_t>(width, 1);
  std::vector<int64_t> index(rank, 0);
  for (size_t flat = 0; flat < count; ++flat) {  // C order of the result
    size_t from = 0, stride = 1;
    for (size_t d = 0; d < rank; ++d) {
      from += static_cast<size_t>(index[d]) * stride;
      stride *= static_cast<size_t>(array.dims[d]);
    }
    std::memcpy(&out[flat * width], &array.bytes[from * width], width);
    for (size_t d = rank; d-- > 0;) {
      if (++index[d] < array.dims[d]) break;
      index[d] = 0;
    }
  }
  array.bytes = std::move(out);
}

uint32_t npy_u32(std::string_view s, size_t at) {
  uint32_t v = 0;
  std::memcpy(&v, s.data() + at, 4);
  return v;
}
uint16_t npy_u16(std::string_view s, size_t at) {
  uint16_t v = 0;
  std::memcpy(&v, s.data() + at, 2);
  return v;
}

// Descriptors under which an element type may be stored; the first is the one written.
std::vector<std::string> npy_descriptors(ElementType type) {
  switch (type) {
    case ElementType::bf16: return {"<u2", "bfloat16", "<V2", "|V2"};
    case ElementType::s4: return {"|i1", "int4", "|u1", "<V1", "|V1"};
    case ElementType::u4: return {"|u1", "uint4", "|i1", "<V1", "|V1"};
    case ElementType::s1: case ElementType::s2: return {"|i1", "int2", "|u1"};
    case ElementType::u1: case ElementType::u2: return {"|u1", "uint2", "|i1"};
    case ElementType::pred: return {"|b1", "|u1", "|i1"};
    case ElementType::s8: return {"|i1", "<i1"};
    case ElementType::u8: return {"|u1", "<u1"};
    case ElementType::s16: return {"<i2"};
    case ElementType::s32: return {"<i4"};
    case ElementType::s64: return {"<i8"};
    case ElementType::u16: return {"<u2"};
    case ElementType::u32: return {"<u4"};
    case ElementType::u64: return {"<u8"};
    case ElementType::f16: return {"<f2"};
    case ElementType::f32: return {"<f4"};
    case ElementType::f64: return {"<f8"};
    case ElementType::c64: return {"<c8"};
    case ElementType::c128: return {"<c16"};
    default: break;  // the 8-bit and narrower floats
  }
  std::string name(name_of(type));  // f8e4m3fn → float8_e4m3fn
  return {"|u1", fmt::format("float{}_{}", name[1], name.substr(2)), "|V1", "<V1", "<f1", "|i1"};
}

// s1 to s4 and u1 to u4.
bool is_narrow_integer(ElementType t) { return is_integer(t) && bit_width(t) < 8; }

}  // namespace

Result<NpyArray> parse_npy(std::string file, const std::string& path) {
  if (file.size() < 10 || file.compare(0, 6, "\x93NUMPY") != 0) return file_error(path, "this is not a .npy file (its first bytes are not \\x93NUMPY)");
  if (file[6] < 1 || file[6] > 3) return file_error(path, fmt::format("the .npy file has format version {}; 1 to 3 can be read", static_cast<unsigned char>(file[6])));
  bool wide = static_cast<unsigned char>(file[6]) >= 2;
  size_t header_at = wide ? 12 : 10;
  if (file.size() < header_at) return file_error(path, "the .npy file ends within its header");
  size_t length = wide ? npy_u32(file, 8) : npy_u16(file, 8);
  if (length > file.size() - header_at) return file_error(path, "the .npy file ends within its header");
  std::string header = file.substr(header_at, length);
  auto descr = npy_field(header, "descr"), order = npy_field(header, "fortran_order"), shape = npy_field(header, "shape");
  if (!descr || !order || !shape) return file_error(path, "the .npy header lacks 'descr', 'fortran_order' or 'shape'");
  while (order->ends_with(' ')) order->pop_back();
  if (*order != "True" && *order != "False") return file_error(path, fmt::format("the .npy header's 'fortran_order' is {}; True or False was expected", *order));
  auto dims = npy_dims(*shape);
  if (!dims) return file_error(path, fmt::format("the .npy header has no shape that makes sense: {}", *shape));

  NpyArray array;
  array.descr = npy_unquoted(*descr);
  array.dims = std::move(*dims);
  size_t width = npy_width(array.descr);
  if (width == 0) return file_error(path, fmt::format("elements of type {} can't be read; little-endian numbers were expected", *descr));
  size_t want = width;
  for (int64_t d : array.dims)
    if (__builtin_mul_overflow(want, static_cast<size_t>(d), &want)) return file_error(path, "the .npy shape is too large");
  file.erase(0, header_at + length);
  if (file.size() != want)
    return file_error(path, fmt::format("the .npy header promises {} bytes of data, the file has {}", want, file.size()));
  array.bytes = std::move(file);
  if (*order == "True") from_fortran_order(array, width);
  return array;
}

Result<std::map<std::string, NpyArray>> parse_npz(const std::string& file, const std::string& path) {
  // The central directory stands at the end; PKWARE's APPNOTE.TXT 6.3, sections 4.3.12 and 4.3.16.
  size_t end = file.rfind("PK\x05\x06");
  if (end == std::string::npos || file.size() - end < 22) return file_error(path, "this is not an .npz file (no zip directory at its end)");
  size_t count = npy_u16(file, end + 10), at = npy_u32(file, end + 16);
  std::map<std::string, NpyArray> out;
  size_t all_packed = 0;  // members that share their data would unpack to any size
  for (size_t i = 0; i < count; ++i) {
    if (at > file.size() || file.size() - at < 46 || file.compare(at, 4, "PK\x01\x02") != 0) return file_error(path, "the zip directory is damaged");
    size_t method = npy_u16(file, at + 10), packed = npy_u32(file, at + 20), plain = npy_u32(file, at + 24);
    size_t name_size = npy_u16(file, at + 28), extra = npy_u16(file, at + 30), comment = npy_u16(file, at + 32), local = npy_u32(file, at + 42);
    if (file.size() - at - 46 < name_size + extra + comment) return file_error(path, "the zip directory is damaged");
    std::string name = file.substr(at + 46, name_size);
    at += 46 + name_size + extra + comment;
    if (local > file.size() || file.size() - local < 30) return file_error(path, fmt::format("member {} is damaged", name));
    size_t data = local + 30 + npy_u16(file, local + 26) + npy_u16(file, local + 28);
    if (packed == UINT32_MAX || data > file.size() || file.size() - data < packed) return file_error(path, fmt::format("member {} is damaged or larger than 4 GiB", name));
    all_packed += packed;
    if (all_packed > file.size()) return file_error(path, "the members of the zip file overlap");
    std::string bytes;
    if (method == 0) {
      bytes = file.substr(data, packed);
    } else if (method == 8) {
      if (plain / 1032 > packed + 1) return file_error(path, fmt::format("member {} claims an impossible size", name));  // deflate's limit
      bytes.resize(plain);
      z_stream z{};
      if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return file_error(path, "zlib can't start");
      z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(file.data() + data));
      z.avail_in = static_cast<uInt>(packed);
      z.next_out = reinterpret_cast<Bytef*>(bytes.data());
      z.avail_out = static_cast<uInt>(plain);
      int status = inflate(&z, Z_FINISH);
      inflateEnd(&z);
      if (status != Z_STREAM_END || z.avail_out != 0) return file_error(path, fmt::format("member {} can't be unpacked", name));
    } else {
      return file_error(path, fmt::format("member {} is packed by method {}; stored and deflated ones can be read", name, method));
    }
    auto array = parse_npy(std::move(bytes), path + ":" + name);
    if (!array) return array.error();
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    out.emplace(std::move(name), std::move(*array));
  }
  return out;
}

Result<Bytes> to_elements(const NpyArray& array, const Shape& shape, const std::string& path) {
  auto known = npy_descriptors(shape.element);
  if (std::find(known.begin(), known.end(), array.descr) == known.end())
    return file_error(path, fmt::format("elements are '{}', but the parameter is {}: '{}' was expected", array.descr, to_string(shape), known[0]));
  // NumPy's ascontiguousarray makes an array of one element of a scalar, and many writers call it.
  bool scalar_as_array = shape.dims.empty() && array.dims.size() == 1 && array.dims[0] == 1;
  if (array.dims != shape.dims && !scalar_as_array)
    return file_error(path, fmt::format("the array has shape [{}], but the parameter is {}", fmt::join(array.dims, ","), to_string(shape)));
  Bytes out(array.bytes.size());
  if (!out.empty()) std::memcpy(out.data(), array.bytes.data(), out.size());
  if (is_narrow_integer(shape.element))
    for (std::byte& b : out) element_from_double(shape.element, is_signed_integer(shape.element) ? static_cast<int8_t>(b) : static_cast<uint8_t>(b), &b);
  if (shape.element == ElementType::pred)
    for (std::byte& b : out) b = b == std::byte{0} ? std::byte{0} : std::byte{1};
  return out;
}

std::string make_npy(const Shape& shape, std::span<const std::byte> bytes) {
  std::string dims;
  for (int64_t d : shape.dims) dims += fmt::format("{}, ", d);
  if (shape.dims.size() != 1 && !dims.empty()) dims.resize(dims.size() - 2);
  if (shape.dims.size() == 1) dims.resize(dims.size() - 1);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", npy_descriptors(shape.element)[0], dims);
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return out;
}

}  // namespace hloc::cli
