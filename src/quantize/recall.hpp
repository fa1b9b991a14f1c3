// Statistics that are known before a model is quantized, instead of calibration.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibrate/gather.hpp"

namespace anybit::quantizing {

// Takes the statistics from a file, or from those gathered before. Preparation adds few values, which are not
// in a file. An error names what is missing.
Result<std::vector<calibrate::Statistics>> recall(const std::vector<calibrate::Watched>& names,
                                                  const std::map<std::string, calibrate::Statistics>& known);

}  // namespace anybit::quantizing
