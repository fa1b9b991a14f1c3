// The options of training as typed parameters: the key `train` of recipes, command line and Python read them
// here.
#pragma once

#include <span>

#include "anybit/training.hpp"
#include "formats/parameters.hpp"

namespace anybit::train {

std::span<const formats::Parameter> option_list();

// Options with these parameters set; the rest are defaults.
Result<TrainingOptions> options_of(const formats::Values& given);
// Those that differ from the defaults, by name.
formats::Values values_of(const TrainingOptions& options);
// `over` where it says something, otherwise `base`.
Result<TrainingOptions> merged(const formats::Values& base, const TrainingOptions& over);

}  // namespace anybit::train
