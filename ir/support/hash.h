// Hashing of values and byte runs, for interning. Not for anything that meets an adversary: tables that use it compare
// keys in full, and the number of keys is bounded by the size of the input.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace hloc {

constexpr uint64_t mix(uint64_t h) {
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93u;
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93u;
  return h ^ (h >> 32);
}

constexpr uint64_t combine(uint64_t seed, uint64_t value) { return mix(seed + 0x9e3779b97f4a7c15u + mix(value)); }

inline uint64_t hash_bytes(std::span<const std::byte> bytes) {
  uint64_t h = mix(bytes.size());
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    h = (h ^ word) * 0x9ddfea08eb382d69u;
    h ^= h >> 29;
  }
  uint64_t tail = 0;
  if (i < bytes.size()) std::memcpy(&tail, bytes.data() + i, bytes.size() - i);
  return combine(h, tail);
}

inline uint64_t hash_string(std::string_view s) { return hash_bytes(std::as_bytes(std::span(s.data(), s.size()))); }

}  // namespace hloc
