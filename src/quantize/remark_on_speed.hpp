// No preset is slower than float without saying so, and why.
#pragma once

#include <string>

#include "lower/plan.hpp"

namespace anybit::quantizing {

// What the report says of a model that is written by this plan; nothing to say: "".
std::string remark_on_speed(const lower::GraphPlan& plan);

}  // namespace anybit::quantizing
