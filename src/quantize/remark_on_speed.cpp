#include "quantize/remark_on_speed.hpp"

#include <fmt/format.h>

#include <optional>

namespace anybit::quantizing {
namespace {

// The format of the first value that goes through one while the model runs, or of the first constant in one:
// here or in graphs inside.
template <class Coded>
std::optional<std::string> first_format(const lower::GraphPlan& plan,
                                        std::vector<Coded> lower::GraphPlan::*list) {
  if (!(plan.*list).empty()) return (plan.*list).front().use.format;
  for (const lower::GraphPlan& inner : plan.inner) {
    if (auto format = first_format(inner, list)) return format;
  }
  return std::nullopt;
}

bool is_of_signs(const std::string& format) {
  return format == "binary" || format == "binary_residual" || format == "ternary";
}

}  // namespace

std::string remark_on_speed(const lower::GraphPlan& plan) {
  const auto values = first_format(plan, &lower::GraphPlan::coded_values);
  const auto weights = first_format(plan, &lower::GraphPlan::coded_constants);
  if (values == "binary")
    return "the inputs of products become signs while the model runs, which takes time of its own: small "
           "convolutions can be slower than in float";
  if (values)
    return fmt::format(
        "the inputs of products are rounded to {} while the model runs, and multiplied in float32: this "
        "shows what hardware of that format computes, and can be slower than the float model{}",
        *values, is_of_signs(*values) ? "" : ". A recipe for weights alone is not");
  if (weights && is_of_signs(*weights))
    return fmt::format(
        "until it is trained with {} weights, values can vanish in the model: below 1e-38 some CPUs take "
        "long for each, and it can be slower than the float model",
        *weights);
  return "";
}

}  // namespace anybit::quantizing
