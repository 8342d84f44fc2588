// The cache of compiled code: what is found, what is compiled again, and several processes at once.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "backends/host/code_cache.h"
#include "ir/support/source.h"

namespace hloc::test {
namespace {

namespace fs = std::filesystem;

struct CacheFolder {
  fs::path path;

  CacheFolder() {
    std::string name = (fs::temp_directory_path() / "hloc-cache-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()));
    path = fs::path(name) / "made" / "when needed";
  }
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;
  ~CacheFolder() { fs::remove_all(path.parent_path().parent_path()); }

  std::vector<fs::path> entries() const {
    std::vector<fs::path> out;
    for (const fs::directory_entry& e : fs::directory_iterator(path)) out.push_back(e.path());
    return out;
  }
};

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

// Stands for a compiler: counts how often it runs.
struct Compiler {
  int runs = 0;

  Result<host::CodeCache::Parts> operator()() {
    ++runs;
    return host::CodeCache::Parts{"text", std::string("code\0with zeros", 15), ""};
  }
};

host::CodeCache::Parts compiled(const fs::path& folder, std::string_view key, Compiler& compiler) {
  host::CodeCache cache(folder);
  CHECK(!cache.has_found());
  int before = compiler.runs;
  auto parts = cache.find_or_make(key, 3, std::ref(compiler));
  REQUIRE(parts);
  CHECK(cache.has_found() == (compiler.runs == before));
  return *parts;
}

}  // namespace

TEST_CASE("compiled code is found the next time") {
  CacheFolder folder;
  Compiler compiler;
  auto first = compiled(folder.path, "key", compiler), second = compiled(folder.path, "key", compiler);
  CHECK(compiler.runs == 1);
  CHECK(first == second);
  REQUIRE(second.size() == 3);
  CHECK(second[1].size() == 15);
  compiled(folder.path, "another key", compiler);
  CHECK(compiler.runs == 2);
  CHECK(folder.entries().size() == 2);
}

TEST_CASE("a damaged or foreign entry is made again") {
  CacheFolder folder;
  Compiler compiler;
  auto good = compiled(folder.path, "key", compiler);
  fs::path entry = folder.entries().front();
  std::string bytes = bytes_of(entry);
  int expected = 1;
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x20);
    for (const std::string& damaged : {changed, bytes.substr(0, i), bytes + changed}) {
      write(entry, damaged);
      CHECK(compiled(folder.path, "key", compiler) == good);
      CHECK(compiler.runs == ++expected);
      CHECK(bytes_of(entry) == bytes);
    }
  }
  // As if both keys had one hash.
  compiled(folder.path, "another key", compiler);
  for (const fs::path& other : folder.entries()) write(other, bytes);
  compiled(folder.path, "another key", compiler);
  CHECK(compiler.runs == expected + 2);
  CHECK(folder.entries().size() == 2);
}

TEST_CASE("an entry of another number of parts is made again") {
  CacheFolder folder;
  Compiler compiler;
  host::CodeCache cache(folder.path);
  REQUIRE(cache.find_or_make("key", 1, []() -> Result<host::CodeCache::Parts> { return host::CodeCache::Parts{"one"}; }));
  CHECK(compiled(folder.path, "key", compiler).size() == 3);
  CHECK(compiler.runs == 1);
  compiled(folder.path, "key", compiler);
  CHECK(compiler.runs == 1);
}

TEST_CASE("what is no file in an entry's place is not read") {
  CacheFolder folder;
  Compiler compiler;
  auto good = compiled(folder.path, "key", compiler);
  fs::path entry = folder.entries().front();
  std::string bytes = bytes_of(entry);
  int expected = 1;
  auto is_replaced = [&] {
    CHECK(compiled(folder.path, "key", compiler) == good);
    CHECK(compiler.runs == ++expected);
    CHECK(fs::is_regular_file(fs::symlink_status(entry)));
    CHECK(bytes_of(entry) == bytes);
    fs::remove(entry);
  };
  fs::remove(entry);
  REQUIRE(::mkfifo(entry.c_str(), 0600) == 0);
  is_replaced();
  for (const char* to : {"/dev/zero", "/nowhere", "."}) {
    fs::create_symlink(to, entry);
    is_replaced();
  }
  fs::create_symlink(entry.filename(), entry);  // to itself
  is_replaced();
}

TEST_CASE("an error of the compiler is not kept") {
  CacheFolder folder;
  host::CodeCache cache(folder.path);
  auto failed = cache.find_or_make("key", 1, []() -> Result<host::CodeCache::Parts> { return error(ErrorKind::bug, "refused"); });
  REQUIRE(!failed);
  CHECK(failed.error().message == "refused");
  CHECK(!fs::exists(folder.path));
}

TEST_CASE("a folder that can't be made or written to is an error") {
  CacheFolder folder;
  Compiler compiler;
  fs::create_directories(folder.path.parent_path());
  write(folder.path, "a file");
  for (const fs::path& path : {folder.path, folder.path / "below", fs::path("/proc")}) {
    auto parts = host::CodeCache(path).find_or_make("key", 3, std::ref(compiler));
    REQUIRE(!parts);
    CHECK(parts.error().kind == ErrorKind::io);
    CHECK(parts.error().file == path.string());
    CHECK_THAT(parts.error().message, Catch::Contains("can't be"));
  }
  fs::remove(folder.path);
}

TEST_CASE("processes share a folder") {
  CacheFolder folder;
  constexpr int processes = 6, rounds = 60;
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    pid_t child = ::fork();
    if (child == 0) {
      bool ok = true;
      for (int i = 0; i < rounds && ok; ++i) {
        std::string code(100000 + i % 7, static_cast<char>('a' + i % 7)), key = fmt::format("key {}", i % 7);
        host::CodeCache cache(folder.path);
        auto parts = cache.find_or_make(key, 1, [&]() -> Result<host::CodeCache::Parts> { return host::CodeCache::Parts{code}; });
        ok = parts && parts->front() == code;
        // Some take entries away, and some damage them.
        std::error_code ignored;
        if (ok && i % 5 == p % 5)
          for (const fs::directory_entry& e : fs::directory_iterator(folder.path, ignored))
            if (e.path().extension() == ".code") fs::resize_file(e.path(), static_cast<uintmax_t>(i), ignored);
      }
      ::_exit(ok ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  for (const fs::path& entry : folder.entries()) CHECK(entry.extension() == ".code");
}

}  // namespace hloc::test
