#include "spelling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace anybit::cli {
namespace {

// The Damerau–Levenshtein distance (optimal string alignment): insertions, deletions, substitutions and swaps
// of neighbours.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  std::iota(cost[0].begin(), cost[0].end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({change, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string> names) {
  constexpr std::size_t kLongest = 100;  // longer words are no misspellings
  if (word.empty() || word.size() > kLongest) return "";
  const std::string* best = nullptr;
  std::size_t fewest = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& name : names) {
    // A prefix counts as similar: "--input" for "--input-shape".
    const std::size_t distance = word.size() > 3 && name.starts_with(word) ? 1 : edits(word, name);
    if (distance < fewest) {
      fewest = distance;
      best = &name;
    }
  }
  return best ? fmt::format("did you mean '{}'?", *best) : "";
}

}  // namespace anybit::cli
