// NumPy's .npy and .npz files: format version 1 to 3, little endian, C or Fortran order.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "include/hloc/result.h"
#include "include/hloc/tensor.h"
#include "src/commands/bytes.h"

namespace hloc::cli {

struct NpyArray {
  std::string descr;          // "<f4", "|u1", or a type name that ml_dtypes writes: "bfloat16", "float8_e4m3fn"…
  std::vector<int64_t> dims;
  std::string bytes;          // C order, little endian
};

// Errors name `path`.
Result<NpyArray> parse_npy(std::string file_bytes, const std::string& path);
// Members by name without ".npy".
Result<std::map<std::string, NpyArray>> parse_npz(const std::string& file_bytes, const std::string& path);

// The bytes as elements of `shape`, whose dimensions must agree. Types that .npy lacks are stored as unsigned integers of
// their width (bf16: <u2, f8: |u1) or one i1 or u1 per element of 1, 2 or 4 bits.
Result<Bytes> to_elements(const NpyArray& array, const Shape& shape, const std::string& path);

// A whole .npy file, version 1.
std::string make_npy(const Shape& shape, std::span<const std::byte> bytes);

}  // namespace hloc::cli
