// Rows of class scores: top-1 and top-k.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "anybit/result.hpp"

namespace anybit::evaluate {

// The index of the largest score.
std::size_t best_of(std::span<const float> row);
// Whether fewer than `most` scores are larger than that of the label: top-k with k = `most`.
bool is_among(std::span<const float> row, std::size_t label, std::int64_t most);
// An error unless there is one label per row.
Result<void> check_count(const std::vector<std::int64_t>& labels, std::int64_t rows);
// The label of a row; an error if it is not one of the classes.
Result<std::size_t> label_of(const std::vector<std::int64_t>& labels, std::size_t row, std::size_t classes);

}  // namespace anybit::evaluate
