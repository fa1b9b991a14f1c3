// Decides what a recipe leaves open: which of several schemes a layer gets (`choose` in a recipe), and which
// layers stay in float32 because float16 cannot hold their values. Judges by the weights, by calibration data
// if there is any, and by the costs of the target.
#pragma once

#include <functional>

#include "base/thread_pool.hpp"
#include "calibrate/gather.hpp"
#include "quantize/annotation.hpp"

namespace anybit::quantizing {

// The statistics of a value; null if there are none.
using SeenValue = std::function<const calibrate::Statistics*(const std::string& value)>;

class SchemeChooser {
 public:
  // `annotation` is that of the recipe without choices: each open layer has its first alternative.
  static Result<SchemeChooser> of(const graph::Model& model, const Annotation& annotation,
                                  const Recipe& recipe, const Target& target, const Limits& limits,
                                  ThreadPool& pool);

  bool empty() const { return layers_.empty() && halves_.empty(); }
  // What to collect of calibration data.
  std::vector<calibrate::Watched> watched() const;
  // By choice_key().
  std::map<std::string, Choice> choose(const SeenValue& seen) const;

  // A layer whose scheme is open.
  struct Option {
    Alternative scheme;
    double weight_error = 0;  // sum of squared errors divided by that of the values
  };
  struct Layer {
    std::string key, input;  // input: the value that is quantized at run time
    bool positive = false;   // it has no negative elements
    bool may_be_float = false;
    double macs = 0, inputs = 0, outputs = 0;  // per row of a GEMM, or position of a convolution
    std::vector<Option> options = {};
  };
  // A node that is to compute in float16.
  struct Half {
    std::string key, problem;         // problem: a constant that float16 cannot hold; empty: none
    std::vector<std::string> values;  // inputs and outputs
  };

 private:
  std::vector<Layer> layers_;
  std::vector<Half> halves_;
  Target::Costs costs_;
};

}  // namespace anybit::quantizing
