// MessagePack (github.com/msgpack/msgpack, spec.md), read value by value; what a code object's notes are written in.
#pragma once

#include <cstdint>
#include <string_view>

#include "backends/gpu/elf.h"

namespace hloc::hip {

class MessagePack {
 public:
  explicit MessagePack(std::string_view bytes) : in_(bytes) {}

  // How many pairs, or values, follow; a text; a number that is not negative. False where the next value is none of that kind
  // or not all there; then nothing more can be read.
  bool map(uint32_t& pairs);
  bool array(uint32_t& values);
  bool text(std::string_view& out);
  bool number(uint64_t& out);
  // Any value, with all that is in it.
  bool skip();

 private:
  // A value's head: its kind, and the number (an unsigned one, a count, a length) that it comes with.
  enum class Kind : uint8_t { number, signed_number, text, bytes, array, map, other };
  bool head(Kind& kind, uint64_t& value);

  gpu::ByteReader in_;
};

}  // namespace hloc::hip
