// A file's bytes as read-only memory. The checkpoint loader maps one shard at a time and copies its slices out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/error.h"

namespace octet {

/// Owner of a read-only mapping of a whole file; move-only. An empty file maps to an empty span.
class MappedFile {
 public:
  /// Errors: Error{code} with the path and the system's reason when the file cannot be opened or mapped.
  explicit MappedFile(const std::string& path, Code code = Code::kCheckpoint);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace octet
