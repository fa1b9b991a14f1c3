// The samples with the largest errors, as a report has them.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "anybit/compare.hpp"

namespace anybit {

nlohmann::ordered_json worst_samples_json(const std::vector<SampleError>& samples);

}  // namespace anybit
