#include "src/commands/command.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "src/commands/error.h"

namespace hloc::cli {
namespace {

Diagnostic io_error(const std::string& path, int code) {
  return file_error(path, fmt::format("it can't be written: {}", std::strerror(code)), ErrorKind::io);
}

// errno, or 0 when all bytes went out.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

Result<void> write_in_place(const std::string& path, std::string_view bytes) {
  bool standard_output = path == "-";
  int fd = standard_output ? STDOUT_FILENO : ::open(path.c_str(), O_WRONLY);
  if (fd < 0) return io_error(path, errno);
  int code = write_all(fd, bytes);
  if (!standard_output && ::close(fd) != 0 && code == 0) code = errno;
  if (code != 0) return io_error(standard_output ? "<stdout>" : path, code);
  return {};
}

// A temporary file beside its goal; removed unless renamed.
class Temporary {
 public:
  explicit Temporary(std::string goal) : goal_(std::move(goal)), path_(goal_ + ".XXXXXX") {}
  Temporary(Temporary&& other) noexcept : goal_(std::move(other.goal_)), path_(std::move(other.path_)), exists_(std::exchange(other.exists_, false)) {}
  ~Temporary() {
    if (exists_) ::unlink(path_.c_str());
  }
  Result<void> write(std::string_view bytes) {
    int fd = ::mkstemp(path_.data());
    if (fd < 0) return io_error(goal_, errno);
    exists_ = true;
    mode_t mask = ::umask(0);
    ::umask(mask);
    int code = ::fchmod(fd, 0666 & ~mask) != 0 ? errno : write_all(fd, bytes);
    if (::close(fd) != 0 && code == 0) code = errno;
    if (code != 0) return io_error(goal_, code);
    return {};
  }
  Result<void> rename() {
    if (::rename(path_.c_str(), goal_.c_str()) != 0) return io_error(goal_, errno);
    exists_ = false;
    return {};
  }

 private:
  std::string goal_, path_;
  bool exists_ = false;
};

}  // namespace

bool written_in_place(const std::string& path) {
  struct stat info {};
  return path == "-" || (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode));
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat one {}, two {};
  return ::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &two) == 0 && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

void say_runner(const ProgramStats& stats) {
  if (!stats.runner.empty()) fmt::print(stderr, "note: code for {} runs under {} here\n", stats.target, stats.runner);
}

void add_cache_option(CLI::App& command, std::string& folder) {
  command.add_option("--cache", folder, "A folder that keeps what NVRTC and comgr compile for the next time; made where there is none")
      ->check(not_empty);
}

std::string not_empty(const std::string& text) { return text.empty() ? "a name was expected" : ""; }

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::input: return 1;
    case ErrorKind::usage: return 2;
    case ErrorKind::target:
    case ErrorKind::memory:
    case ErrorKind::io: return 3;
    case ErrorKind::bug: return 4;
  }
  return 4;
}

int report(const Diagnostic& error) {
  std::fputs(error.render().c_str(), stderr);
  return exit_code(error.kind);
}

Result<void> write_outputs(std::span<const std::pair<std::string, std::string_view>> files) {
  std::vector<Temporary> temporaries;
  for (const auto& [path, bytes] : files) {
    if (written_in_place(path)) continue;
    temporaries.emplace_back(path);
    if (auto ok = temporaries.back().write(bytes); !ok) return ok.error();
  }
  for (const auto& [path, bytes] : files) {
    if (!written_in_place(path)) continue;
    if (auto ok = write_in_place(path, bytes); !ok) return ok.error();
  }
  for (Temporary& t : temporaries)
    if (auto ok = t.rename(); !ok) return ok.error();
  return {};
}

Result<void> write_output(const std::string& path, std::string_view bytes) {
  std::pair<std::string, std::string_view> file{path, bytes};
  return write_outputs({&file, 1});
}

std::string stem(const std::string& path) {
  if (path == "-") return "module";
  size_t slash = path.rfind('/');
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  size_t dot = name.rfind('.');
  if (dot != std::string::npos && dot > 0) name.resize(dot);
  return name.empty() ? "module" : name;
}

}  // namespace hloc::cli
