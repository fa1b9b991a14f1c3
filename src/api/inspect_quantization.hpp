// Lists the quantized tensors of a model and their parameters, from the descriptors of its operators.
#pragma once

#include <map>
#include <unordered_set>

#include "anybit/inspect.hpp"
#include "api/inspect_parameters.hpp"
#include "ops/infer.hpp"

namespace anybit {

class QuantizationSurvey {
 public:
  explicit QuantizationSurvey(const ConstantFlow& flow) : flow_(flow) {}
  // Nodes must come in the order of Inference::nodes, after flow.pass().
  void pass(const ops::NodeFacts& facts);
  std::vector<Inspection::Quantized> finish() const;

 private:
  void add(const ops::NodeFacts& facts, const ops::QuantizedTensor& where);
  void add_packed(const ops::NodeFacts& facts);
  void merge(const Inspection::Quantized& found);

  const ConstantFlow& flow_;
  std::unordered_set<const void*> seen_;  // a tensor counts once: at its producer, or at its first consumer
  std::map<std::string, Inspection::Quantized> groups_;
};

}  // namespace anybit
