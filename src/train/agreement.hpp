// Rows in which two arrays of scores choose the same class.
#pragma once

#include "train/loss.hpp"

namespace anybit::train {

struct Agreement {
  std::int64_t rows = 0, agreed = 0;
  // Negative if there were no rows with classes.
  double share() const { return rows == 0 ? -1 : static_cast<double>(agreed) / static_cast<double>(rows); }
  void add(const OutputLoss& of, const ops::Array& a, const ops::Array& b);
};

}  // namespace anybit::train
