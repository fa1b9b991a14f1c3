// Statistics of an earlier calibration, for the values that a recipe needs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibrate/gather.hpp"

namespace anybit::quantizing {

using KnownStatistics = std::map<std::string, calibrate::Statistics>;  // by value

// Takes the statistics from a file, or from those gathered before. Preparation adds few values, which are not
// in a file. `samples` becomes the number of samples behind them, if that is more.
Result<std::vector<calibrate::Statistics>> recall(const std::vector<calibrate::Watched>& names,
                                                  const KnownStatistics& known, std::int64_t& samples);

}  // namespace anybit::quantizing
