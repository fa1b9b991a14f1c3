#include "base/nearest.hpp"

#include <algorithm>

namespace anybit {
namespace {

constexpr std::size_t kMost = 3;

// Case is ignored.
std::string folded(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return small;
}

// Edit distance (insertions, deletions, replacements).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replace});
    }
  }
  return row[b.size()];
}

// Names that share a prefix with the word, if no name is near in edit distance: "mxfp66" for mxfp6_e2m3.
// Longest prefix first.
std::vector<std::string> with_same_beginning(std::string_view word, std::span<const std::string_view> names) {
  constexpr std::size_t kShortest = 3;
  std::size_t longest = kShortest;
  std::vector<std::string> result;
  for (std::string_view name : names) {
    const std::string small = folded(name);
    const auto differ = std::mismatch(word.begin(), word.end(), small.begin(), small.end()).first;
    const auto same = static_cast<std::size_t>(differ - word.begin());
    if (same < longest) continue;
    if (same > longest) result.clear();
    longest = same;
    if (result.size() < kMost) result.emplace_back(name);
  }
  return result;
}

}  // namespace

std::vector<std::string> nearest(std::string_view given, std::span<const std::string_view> names) {
  // Names in a file can be long and many: a longer word is not a misspelling.
  constexpr std::size_t kLongest = 100;
  if (given.size() > kLongest) return {};
  const std::string word = folded(given);
  constexpr std::size_t kInteger = 4;
  std::vector<std::pair<std::size_t, std::string_view>> found;
  const std::size_t most = std::max<std::size_t>(1, (word.size() + 2) / 3);
  for (std::string_view name : names) {
    // A substring of a name is near, for any name length: "mxfp4" for mxfp4_e2m1, "e4m3" for fp8_e4m3.
    const std::string small = folded(name);
    const std::size_t at = word.size() >= kInteger ? small.find(word) : std::string::npos;
    if (at != std::string::npos) {
      found.emplace_back(small == word ? 0 : at == 0 ? 1 : 2, name);
      continue;
    }
    if (name.size() > word.size() + most || word.size() > name.size() + most) continue;
    const std::size_t edits = distance(word, small);
    if (edits <= most) found.emplace_back(edits, name);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> result;
  for (std::size_t i = 0; i < std::min(kMost, found.size()); ++i) result.emplace_back(found[i].second);
  return result.empty() ? with_same_beginning(word, names) : result;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> names) {
  const std::vector<std::string> close = nearest(word, names);
  std::string text;
  for (std::size_t i = 0; i < close.size(); ++i) {
    text += (i == 0 ? "did you mean '" : i + 1 == close.size() ? " or '" : ", '") + close[i] + "'";
  }
  return text.empty() ? text : text + "?";
}

}  // namespace anybit
