// The verdict of a comparison as text and as JSON, with the command to try next.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "anybit/verdict.hpp"
#include "sample_options.hpp"

namespace anybit::cli {

// What the next command is made of.
struct VerdictContext {
  std::string model, output;    // the float model, and the quantized file
  const SampleArguments& data;  // calibration data
  std::string recipe = {};      // of the quantized file, as it was given; empty: unknown
  bool train = false;           // training usually brings back what its formats lose
};

// "Verdict   broken: …", and the next step if there is one.
std::string verdict_text(const Verdict& verdict, const VerdictContext& context);
nlohmann::ordered_json verdict_json(const Verdict& verdict, const VerdictContext& context);

}  // namespace anybit::cli
