// "did you mean": the nearest of some words.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace octet {

/// Insertions, deletions, replacements and swaps of neighbours that turn a into b.
int edit_distance(std::string_view a, std::string_view b);

/// "; did you mean 'max_batch'?" for the word nearest to `found`, or an empty text when none is near.
std::string did_you_mean(std::string_view found, std::span<const std::string> words);

}  // namespace octet
