// `refine: means`: outputs of products keep their means. What rounding moves the mean of an output by, for
// the same inputs, is measured on samples and taken off the bias, which costs no bytes. Errors of single
// values are many and cancel; one of the mean is the same at every place, and later layers cannot tell it
// from a signal.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/model.hpp"
#include "ops/array.hpp"
#include "quantize/annotation.hpp"

namespace anybit::quantizing {

using Sample = std::map<std::string, ops::Datum>;

// Some of many samples: the same ones in the same order, in whatever order they came.
class ChosenSamples {
 public:
  Result<void> offer(const Sample& sample);
  std::vector<Sample> take();

 private:
  std::shared_ptr<ops::Memory> memory_ = ops::Memory::make();
  std::multimap<std::uint64_t, Sample> by_hash_;
};

// Nodes of the model's own graph that are to keep the means of their outputs.
std::vector<int> nodes_that_keep_means(const graph::Graph& graph, const GraphNotes& notes);

// Those of the nodes that have a bias to be moved; it is zeros if they had none before. Of a MatMul, it is
// what an Add behind it has.
std::vector<int> with_biases(graph::Graph& graph, std::vector<int> nodes);

// By how much the mean of each channel of a node's output is too low in `quantized` once those of all nodes
// before it are right: in whole steps of the bias, if it has steps. Empty for a node of which this cannot be
// told. The same for any number of threads.
Result<std::vector<std::vector<double>>> mean_errors(const graph::Model& floating,
                                                     const graph::Model& quantized,
                                                     std::span<const int> nodes,
                                                     std::span<const Sample> samples, int threads,
                                                     std::int64_t max_memory);

// Adds to the bias of a node; false if it has none, or would not be finite any more.
bool shift_bias(graph::Graph& graph, int node, std::span<const double> shift);

}  // namespace anybit::quantizing
