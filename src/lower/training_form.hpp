// The form of a plan that is trained: weights stay float32 behind FakeQuantize
// (ops/training/fake_quantize.cpp), and activations pass through it, so that the forward pass has the numbers
// of the quantized model.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "anybit/result.hpp"
#include "graph/names.hpp"
#include "lower/plan.hpp"

namespace anybit::lower {

// The step of a tensor as an initializer of the training graph, and its zero point.
struct LearnedStep {
  std::string cluster;           // Quantization::cluster; empty for a weight
  Place place = {};              // of a weight: the first of its constant
  std::string step, zero_point;  // initializers, float32; zero_point: empty if it is fixed
  bool weight = false;
  int low = 0, high = 0;  // integers of the type
  Parameters first = {};  // before training
};

class TrainingForm {
 public:
  TrainingForm(graph::Graph& graph, graph::Names& names) : graph_(graph), names_(names) {}

  // Appends the nodes that quantize and dequantize `from` as `result`.
  void activation(const std::string& from, const std::string& about, const Quantization& as,
                  std::string result, std::vector<graph::Node>& nodes);
  // Appends the node that quantizes and dequantizes `from`, the float values of a constant; returns its
  // output.
  std::string constant(const std::string& from, const Constant& one, std::vector<graph::Node>& nodes);
  // The same for a bias in units of two scales: `from` itself if one of them is not an initializer here.
  std::string bias(const std::string& from, const Constant& one, std::vector<graph::Node>& nodes);
  // The activations of a dynamic layer.
  std::string dynamic(const std::string& from, const DynamicLayer& layer, bool is_conv,
                      std::vector<graph::Node>& nodes);

  const std::vector<LearnedStep>& steps() const { return steps_; }

 private:
  struct Stored {
    std::string step, zero_point;
  };
  Stored store(const std::string& about, const Parameters& parameters);
  graph::Node fake(const std::string& about, std::vector<std::string> inputs, std::string output) const;
  std::string floats(const std::string& name, std::vector<std::int64_t> dims, std::vector<float> values);

  graph::Graph& graph_;
  graph::Names& names_;
  std::vector<LearnedStep> steps_;
  std::map<std::string, Stored> clusters_;
  std::map<Place, Stored> weights_;  // by their first place
};

}  // namespace anybit::lower
