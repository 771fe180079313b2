// See suggest.h.
#include "options/suggest.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

namespace octet {

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<int>> cost(a.size() + 1, std::vector<int>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = static_cast<int>(i);
  for (size_t j = 0; j <= b.size(); ++j) cost[0][j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

std::string did_you_mean(std::string_view found, std::span<const std::string> words) {
  std::string_view nearest;
  int least = 0;
  for (const std::string& word : words) {
    const int distance = edit_distance(found, word);
    if (nearest.empty() || distance < least) {
      nearest = word;
      least = distance;
    }
  }
  const int near = std::max(1, static_cast<int>(std::min(found.size(), nearest.size()) / 3));
  if (nearest.empty() || least > near) return "";
  return fmt::format("; did you mean '{}'?", nearest);
}

}  // namespace octet
