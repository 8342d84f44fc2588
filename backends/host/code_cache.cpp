// An entry is named by a hash of its key:
//
//   8 bytes   "hlocode1"
//   8         a hash of all that follows
//   then the key and each part of the code: 8 bytes for its length, its bytes
//
// The key is there in full, so two keys of one hash are told apart; the later one takes the place of the earlier.
#include "backends/host/code_cache.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <random>
#include <unistd.h>

#include <fmt/format.h>

#include "ir/support/check.h"
#include "ir/support/hash.h"
#include "ir/support/source.h"

namespace hloc::host {
namespace {

constexpr std::string_view magic = "hlocode1";

Diagnostic io_error(const std::string& path, std::string message) {
  Diagnostic d = error(ErrorKind::io, std::move(message));
  d.file = path;
  return d;
}

void append(std::string& out, uint64_t number) { out.append(reinterpret_cast<const char*>(&number), sizeof number); }

void append(std::string& out, std::string_view run) {
  append(out, uint64_t{run.size()});
  out += run;
}

bool take(std::string_view& in, uint64_t& number) {
  if (in.size() < sizeof number) return false;
  std::memcpy(&number, in.data(), sizeof number);
  in.remove_prefix(sizeof number);
  return true;
}

bool take(std::string_view& in, std::string_view& run) {
  uint64_t size = 0;
  if (!take(in, size) || in.size() < size) return false;
  run = in.substr(0, size);
  in.remove_prefix(size);
  return true;
}

// Nothing of what is no file: a pipe in its place would have no end.
std::string file_bytes(const std::string& path) {
  std::string out;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return out;
  std::ifstream in(path, std::ios::binary);
  for (char piece[65536]; in.read(piece, sizeof piece), in.gcount() > 0;) out.append(piece, static_cast<size_t>(in.gcount()));
  return out;
}

// The parts of an entry that is whole, of this key and of so many parts.
std::optional<CodeCache::Parts> read_entry(std::string_view bytes, std::string_view key, size_t count) {
  uint64_t hash = 0;
  if (!bytes.starts_with(magic)) return std::nullopt;
  bytes.remove_prefix(magic.size());
  if (!take(bytes, hash) || hash != hash_string(bytes)) return std::nullopt;
  std::string_view run;
  if (!take(bytes, run) || run != key) return std::nullopt;
  CodeCache::Parts out;
  while (!bytes.empty()) {
    if (!take(bytes, run)) return std::nullopt;
    out.emplace_back(run);
  }
  if (out.size() != count) return std::nullopt;
  return out;
}

// errno, or 0 when all is written. What a loss of power leaves of it, its hash tells.
int write_new(const std::string& path, std::string_view bytes) {
  int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (file < 0) return errno;
  int code = 0;
  while (!bytes.empty() && code == 0) {
    ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n >= 0) bytes.remove_prefix(static_cast<size_t>(n));
    else if (errno != EINTR) code = errno;
  }
  if (::close(file) != 0 && code == 0) code = errno;
  return code;
}

}  // namespace

std::string CodeCache::path_of(std::string_view key) const { return fmt::format("{}/{:016x}.code", folder_, hash_string(key)); }

Result<CodeCache::Parts> CodeCache::find_or_make(std::string_view key, size_t count, const std::function<Result<Parts>()>& make) {
  has_found_ = false;
  if (auto found = read_entry(file_bytes(path_of(key)), key, count)) {
    has_found_ = true;
    return *std::move(found);
  }
  auto made = make();
  if (!made) return made;
  HLOC_CHECK(made->size() == count, "compiled code has other parts than are asked for");
  if (auto ok = keep(key, *made); !ok) return ok.error();
  return made;
}

Result<void> CodeCache::keep(std::string_view key, const Parts& parts) const {
  std::error_code failed;
  std::filesystem::create_directories(folder_, failed);
  if (failed) return io_error(folder_, fmt::format("the folder for compiled code can't be made: {}", failed.message()));
  std::string content, path = path_of(key);
  append(content, key);
  for (const std::string& part : parts) append(content, part);
  std::string bytes(magic);
  append(bytes, hash_string(content));
  bytes += content;
  // Nobody else writes to a name of so many random bits.
  std::random_device random;
  std::string temporary = fmt::format("{}.{:08x}{:08x}", path, random(), random());
  int code = write_new(temporary, bytes);
  if (code == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) code = errno;
  if (code == 0) return {};
  if (code != EEXIST) ::unlink(temporary.c_str());
  return io_error(folder_, fmt::format("compiled code can't be kept in this folder: {}", std::strerror(code)));
}

}  // namespace hloc::host
