// Quantizes constants in any format.
#pragma once

#include <map>
#include <memory>
#include <span>

#include "base/thread_pool.hpp"
#include "formats/fixed.hpp"
#include "lower/plan.hpp"
#include "quantize/annotation.hpp"

namespace anybit::quantizing {

struct QuantizedWeight {
  lower::Constant constant;
  std::int64_t bytes = 0;   // its size in a file
  double sqnr = 0;          // dB
  std::int64_t raised = 0;  // channels whose scale was increased by `least`
  std::int64_t moved = 0;   // values that were not rounded to nearest
};

// `least`: lower bounds of the scales per channel; may be empty. An error if a value is not finite, or if the
// format cannot be stored.
Result<QuantizedWeight> quantize_weight(const ConstantNote& note, std::span<const double> least,
                                        ThreadPool& pool);

// Weights that were quantized before, with the same statistics: a model is planned several times.
class QuantizedWeights {
 public:
  Result<QuantizedWeight> quantize(const ConstantNote& note, std::span<const double> least, ThreadPool& pool);

 private:
  struct Known {
    Bytes data;  // owns what the key points to
    ConstantNote note;
    std::vector<double> least;
    QuantizedWeight made;
  };
  std::multimap<const std::byte*, Known> known_;
};

// The format if it is fixed point above 16 bits, stored as int32; otherwise null.
Result<std::shared_ptr<const formats::FixedCodec>> wide_format(const formats::Use& use);

// The size in a file.
std::int64_t bytes_of(const lower::Constant& constant);

}  // namespace anybit::quantizing
