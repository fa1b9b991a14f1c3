// Many quantized forms of one model as a table, as CSV and as JSON.
#pragma once

#include <string>

#include "anybit/sweep.hpp"

namespace anybit::cli {

// `first`: the title of the first column, "recipe" or "model"; `model`: the float model.
std::string sweep_text(const Sweep& sweep, const std::string& first, const std::string& model);
std::string sweep_csv(const Sweep& sweep);
std::string sweep_json(const Sweep& sweep, const std::string& model);

}  // namespace anybit::cli
