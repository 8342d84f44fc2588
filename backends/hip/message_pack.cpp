#include "backends/hip/message_pack.h"

namespace hloc::hip {
namespace {

// A number of so many bytes, the highest first.
bool big_endian(gpu::ByteReader& in, size_t bytes, uint64_t& out) {
  std::string_view run;
  if (!in.run(bytes, run)) return false;
  out = 0;
  for (char c : run) out = out << 8 | static_cast<uint8_t>(c);
  return true;
}

}  // namespace

bool MessagePack::head(Kind& kind, uint64_t& value) {
  uint8_t first = 0;
  if (!in_.number(first)) return false;
  // Small values are in the first byte itself.
  if (first <= 0x7f) return kind = Kind::number, value = first, true;
  if (first <= 0x8f) return kind = Kind::map, value = first & 0xf, true;
  if (first <= 0x9f) return kind = Kind::array, value = first & 0xf, true;
  if (first <= 0xbf) return kind = Kind::text, value = first & 0x1f, true;
  if (first >= 0xe0) return kind = Kind::other, value = 0, true;  // -32 to -1
  struct Form {
    uint8_t first, count;  // how many first bytes: sizes of 1, 2, 4, 8 bytes, or from `size` on
    size_t size;
    Kind kind;
  };
  static constexpr Form forms[] = {{0xc0, 1, 0, Kind::other},  {0xc2, 2, 0, Kind::other},         {0xc4, 3, 1, Kind::bytes},
                                   {0xcc, 4, 1, Kind::number}, {0xd0, 4, 1, Kind::signed_number}, {0xd9, 3, 1, Kind::text},
                                   {0xdc, 2, 2, Kind::array},  {0xde, 2, 2, Kind::map}};
  for (const Form& f : forms)
    if (first >= f.first && first < f.first + f.count) {
      kind = f.kind, value = 0;
      return f.size == 0 || big_endian(in_, f.size << (first - f.first), value);
    }
  return false;  // extensions and floats, which these notes never have
}

bool MessagePack::map(uint32_t& pairs) {
  Kind kind;
  uint64_t value;
  return head(kind, value) && kind == Kind::map && (pairs = static_cast<uint32_t>(value), true);
}

bool MessagePack::array(uint32_t& values) {
  Kind kind;
  uint64_t value;
  return head(kind, value) && kind == Kind::array && (values = static_cast<uint32_t>(value), true);
}

bool MessagePack::text(std::string_view& out) {
  Kind kind;
  uint64_t size;
  return head(kind, size) && kind == Kind::text && in_.run(size, out);
}

bool MessagePack::number(uint64_t& out) {
  Kind kind;
  return head(kind, out) && kind == Kind::number;
}

bool MessagePack::skip() {
  for (uint64_t left = 1; left > 0; --left) {  // values still to be passed over, those inside others too
    Kind kind;
    uint64_t value;
    std::string_view passed;
    if (!head(kind, value)) return false;
    if (kind == Kind::map) left += 2 * value;
    if (kind == Kind::array) left += value;
    if ((kind == Kind::text || kind == Kind::bytes) && !in_.run(value, passed)) return false;
  }
  return true;
}

}  // namespace hloc::hip
