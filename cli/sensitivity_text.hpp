// Sensitivity as text and as JSON, with the command that leaves the harmful layers in float.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "anybit/sensitivity.hpp"
#include "sample_options.hpp"

namespace anybit::cli {

// What the next command is made of.
struct SensitivityContext {
  const std::string &model, &recipe;
  const std::vector<std::string>& exclude;  // words of --exclude, which stay
  const SampleArguments& data;
};

// `rows`: how many layers to show.
std::string sensitivity_text(const Sensitivity& found, const SensitivityContext& context, std::int64_t rows);
std::string sensitivity_json(const Sensitivity& found, const SensitivityContext& context);

}  // namespace anybit::cli
