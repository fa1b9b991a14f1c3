// Rows of scores, one score for each class: which class a row is for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "anybit/result.hpp"

namespace anybit {

// Where the largest score is.
std::size_t best_of(std::span<const float> row);
// True if fewer than `most` scores are larger than that of the class.
bool is_among(std::span<const float> row, std::size_t label, std::int64_t most);
// An error unless there is one label for each row.
Result<void> check_count(const std::vector<std::int64_t>& labels, std::int64_t rows);
// The label of a row that has one; an error if it is none of the classes.
Result<std::size_t> label_of(const std::vector<std::int64_t>& labels, std::size_t row, std::size_t classes);

}  // namespace anybit
