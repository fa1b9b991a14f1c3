#include "anybit/compare.hpp"
#include "api/value.hpp"
#include "base/error.hpp"
#include "base/guard.hpp"
#include "base/try.hpp"
#include "evaluate/row_scores.hpp"

namespace anybit {

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
    TRY(evaluate::check_count(labels, static_cast<std::int64_t>(all.size() / classes)));
    Hits hits;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const std::span<const float> row = all.subspan(i * classes, classes);
      const std::size_t label = TRY(evaluate::label_of(labels, i, classes));
      ++hits.rows;
      hits.top1 += evaluate::best_of(row) == label ? 1 : 0;
      hits.top5 += evaluate::is_among(row, label, 5) ? 1 : 0;
    }
    return hits;
  });
}

}  // namespace anybit
