// Buffers of a call: made from files or fills, and shown to people.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "include/hloc/hloc.h"
#include "src/commands/bytes.h"

namespace hloc::cli {

struct InputArguments {
  std::vector<std::string> npy;        // --input, one per parameter leaf
  std::string npz;                     // --inputs
  std::optional<uint64_t> fill;        // --fill
};

// One buffer per shape, from the files, the archive (members `in<k>…`, or arr_<k>, or in order of name), or the fill.
Result<std::vector<Bytes>> gather_inputs(const InputArguments& arguments, std::span<const Shape> shapes);

// The values readably: all of a small array, the ends of a large one, with a checksum.
std::string show_array(const Shape& shape, std::span<const std::byte> bytes);

// FNV-1a over the bytes, for comparing runs.
uint64_t checksum(std::span<const std::byte> bytes);

// Views for Program::call.
std::vector<std::span<const std::byte>> input_spans(const std::vector<Bytes>& buffers);
std::vector<std::span<std::byte>> output_spans(std::vector<Bytes>& buffers);
// Buffers for results; an error of kind `memory` when they can't be had.
Result<std::vector<Bytes>> make_outputs(std::span<const Shape> shapes);

}  // namespace hloc::cli
