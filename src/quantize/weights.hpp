// Constants to the codes of their format: one way for all of them.
#pragma once

#include <span>

#include "base/thread_pool.hpp"
#include "lower/plan.hpp"
#include "quantize/annotation.hpp"

namespace anybit::quantizing {

struct QuantizedWeight {
  lower::Constant constant;
  std::int64_t bytes = 0;      // that it takes in a file
  double signal_to_noise = 0;  // dB
  std::int64_t raised = 0;     // channels whose scale `least` raised
  std::int64_t moved = 0;      // values that are not rounded to the nearest, for the sums
};

// `least`: by channel, scales that must not be undercut; may be empty. An error if a value is not finite, or
// the format cannot be stored.
Result<QuantizedWeight> quantize_weight(const ConstantNote& note, std::span<const double> least,
                                        ThreadPool& pool);

// That it takes in a file.
std::int64_t bytes_of(const lower::Constant& constant);

}  // namespace anybit::quantizing
