// mmap behind the owner declared in mapped_file.h.
#include "base/mapped_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace octet {

MappedFile::MappedFile(const std::string& path, Code code) {
  const auto fail = [&](const char* verb, int file) {
    const int reason = errno;
    if (file >= 0) ::close(file);
    throw Error(code, fmt::format("{}: cannot {} the file: {}", path, verb, std::strerror(reason)));
  };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail("open", file);
  struct stat status = {};
  if (::fstat(file, &status) != 0) fail("examine", file);
  size_ = static_cast<size_t>(status.st_size);
  if (size_ > 0) {
    void* memory = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    if (memory == MAP_FAILED) fail("map", file);
    ::madvise(memory, size_, MADV_SEQUENTIAL);  // a hint; its failure changes nothing but speed
    data_ = static_cast<const std::byte*>(memory);
  }
  ::close(file);  // the mapping outlives the descriptor
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace octet
