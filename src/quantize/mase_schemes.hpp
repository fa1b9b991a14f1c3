// MASE's schemes that are not formats of their own: those that have another name here, and those that do not
// exist.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "anybit/result.hpp"

namespace anybit::quantizing {

// The keys of one part of a config, without the part's name: {"width", "8"}.
using MaseKeys = std::map<std::string, std::string, std::less<>>;

// Why a scheme of MASE cannot be used, and what comes near; nothing if it is not known as one.
Result<void> check_mase_scheme(std::string_view scheme);

bool has_other_name(std::string_view scheme);  // mxint, mxfp, scale_integer
// The spec of a part ("data_in", "weight", "bias", "data_out") in such a scheme.
Result<std::string> spec_of_mase(std::string_view scheme, std::string_view part, MaseKeys keys);

}  // namespace anybit::quantizing
