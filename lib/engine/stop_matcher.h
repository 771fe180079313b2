// Stop strings on detokenised text, examined token by token.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace octet {

/// Collects a completion's text and finds the first stop string in it. One per sequence.
class StopMatcher {
 public:
  explicit StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// Whether there is anything to look for.
  bool armed() const { return !stops_.empty(); }
  /// Appends the text of one token. True once a stop string is complete; text() is then cut before it. When one token
  /// completes several, the one that starts first counts, of these the first of the list.
  bool append(std::string_view piece);
  const std::string& text() const { return text_; }
  /// The stop string that append() found; null before.
  const std::string* found() const { return found_; }

 private:
  std::vector<std::string> stops_;
  std::string text_;
  const std::string* found_ = nullptr;
};

}  // namespace octet
