// Outputs that a recurrent model takes again as inputs.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "graph/model.hpp"
#include "ops/array.hpp"

namespace anybit {

// By the declarations: outputs with the type and shape of an input. By the runs, for other outputs, as many
// models do not declare all sizes: in every sample the type and shape are those of an input that the output
// is named after, or that is all zeros, as the state before the first step is. Such an input is the state of
// one output only.
class States {
 public:
  explicit States(const graph::Graph& graph);

  // One run of the model, with its outputs in order.
  void see(const std::map<std::string, ops::Datum>& inputs, std::span<const ops::Datum> outputs);
  // Empty unless at least one output, which is to be judged, and one input, which has the data, are not
  // states.
  std::set<std::string> outputs() const;

 private:
  std::set<std::string> inputs_, declared_, taken_;
  std::vector<std::string> names_;                           // of outputs
  std::map<std::size_t, std::set<std::string>> candidates_;  // inputs of each output, by the runs
  std::int64_t samples_ = 0;
};

}  // namespace anybit
