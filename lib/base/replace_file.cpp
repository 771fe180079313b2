// POSIX calls: the promise is about what rename and fsync do.
#include "base/replace_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"

namespace octet {
namespace {

Error cannot(std::string_view what, const std::string& path) {
  return Error(Code::kEnvironment, fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)));
}

}  // namespace

void write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw cannot("write", path);
    bytes.remove_prefix(static_cast<size_t>(put));
  }
}

void sync_folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

void replace_file(const std::string& path, std::string_view text, Durability durability) {
  const std::string fresh = path + ".new";
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) throw cannot("create", fresh);
  try {
    write_all(fd, text, fresh);
    if (durability == Durability::kMachine && ::fsync(fd) != 0) throw cannot("make durable", fresh);
  } catch (...) {
    ::close(fd);
    ::unlink(fresh.c_str());
    throw;
  }
  ::close(fd);
  if (::rename(fresh.c_str(), path.c_str()) != 0) {
    const Error error = cannot("replace", path);
    ::unlink(fresh.c_str());
    throw error;
  }
  if (durability == Durability::kMachine) sync_folder_of(path);
}

}  // namespace octet
