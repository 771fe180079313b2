// Character classes of Unicode 16.0 for the pre-tokenizer, as the reference tokenizer's regex engine sees them.
// The data are in unicode_tables.cpp, which scripts/gen_unicode.py writes.
#pragma once

#include <cstdint>
#include <span>

namespace octet {

/// Flags of one code point. The five general categories exclude each other; white space (the property White_Space) is
/// set besides them. A code point in none of them (controls, format characters, unassigned) has no flag.
namespace char_class {
inline constexpr uint8_t kLetter = 1;
inline constexpr uint8_t kMark = 2;
inline constexpr uint8_t kNumber = 4;
inline constexpr uint8_t kPunctuation = 8;
inline constexpr uint8_t kSymbol = 16;
inline constexpr uint8_t kWhiteSpace = 32;
}  // namespace char_class

/// Runs of code points with the same flags: (first code point << 8) | flags, ascending, the first run starts at 0.
std::span<const uint32_t> char_class_runs();

}  // namespace octet
