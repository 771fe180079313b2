// SHA-256: names a file by its content (which chat encoding a checkpoint brings, which prompt a line was).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace octet {

/// The digest of the bytes (FIPS 180-4) as 64 lower-case hexadecimal digits.
std::string sha256(std::span<const std::byte> bytes);
inline std::string sha256(std::string_view text) {
  return sha256(std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace octet
