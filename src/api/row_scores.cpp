#include "api/row_scores.hpp"

#include <algorithm>

#include "anybit/compare.hpp"
#include "api/value.hpp"
#include "base/error.hpp"
#include "base/guard.hpp"
#include "base/try.hpp"

namespace anybit {

std::size_t best_of(std::span<const float> row) {
  return static_cast<std::size_t>(std::ranges::max_element(row) - row.begin());
}

bool is_among(std::span<const float> row, std::size_t label, std::int64_t most) {
  return std::ranges::count_if(row, [&](float score) { return score > row[label]; }) < most;
}

Result<std::size_t> label_of(const std::vector<std::int64_t>& labels, std::size_t row, std::size_t classes) {
  if (labels[row] < 0 || labels[row] >= static_cast<std::int64_t>(classes))
    return invalid_argument(
        fmt::format("label {} of sample {} is not one of {} classes", labels[row], row, classes));
  return static_cast<std::size_t>(labels[row]);
}

Result<void> check_count(const std::vector<std::int64_t>& labels, std::int64_t rows) {
  if (std::ssize(labels) == rows) return {};
  return invalid_argument(fmt::format("{} labels for {} rows of scores", labels.size(), rows),
                          "one label for each");
}

Result<Hits> count_hits(const Value& scores, const std::vector<std::int64_t>& labels) noexcept {
  return guarded([&]() -> Result<Hits> {
    const ops::Datum datum = TRY(to_datum(scores));
    const bool rows = datum.is_array() && datum.array.type() == graph::ElementType::float32 &&
                      datum.array.rank() > 0 && datum.array.dims().back() > 1;
    if (!rows)
      return invalid_argument(fmt::format("{} does not hold one row of scores per label", to_string(datum)),
                              "float32[rows, classes]");
    const std::span<const float> all = datum.array.elements<float>();
    const auto classes = static_cast<std::size_t>(datum.array.dims().back());
    TRY(check_count(labels, static_cast<std::int64_t>(all.size() / classes)));
    Hits hits;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const std::span<const float> row = all.subspan(i * classes, classes);
      const std::size_t label = TRY(label_of(labels, i, classes));
      ++hits.rows;
      hits.top1 += best_of(row) == label ? 1 : 0;
      hits.top5 += is_among(row, label, 5) ? 1 : 0;
    }
    return hits;
  });
}

}  // namespace anybit
