// Removes nodes that return their input unchanged, bit for bit: Identity, Dropout in inference mode, casts to
// the same type, reshapes and transposes without effect, multiplication by one. Before a run only Identity:
// without the types and shapes of values, a node that does nothing does not differ from one that is invalid.
#include <algorithm>
#include <cmath>
#include <optional>

#include "graph/constant.hpp"
#include "graph/index.hpp"
#include "graph/node.hpp"
#include "graph/rewrite.hpp"
#include "passes/facts.hpp"
#include "passes/learned.hpp"
#include "passes/table.hpp"

namespace anybit::passes {
namespace {

using graph::Graph;
using graph::Node;

struct About {
  const Facts* facts;  // null before a run
  const graph::Constants& constants;
  std::int64_t opset;

  bool same_shape(const Node& node, std::size_t from = 0) const {
    return facts->same_shape(node.inputs[from], node.outputs[0]);
  }
  bool fails(const Node& node) const { return facts && facts->fails(node); }
  bool all(const std::string& name, std::int64_t value) const {
    const auto list = integers(constants.find(name));
    return list && std::ranges::all_of(*list, [&](std::int64_t one) { return one == value; });
  }
};

bool drops_nothing(const Node& node, const About& about) {
  if (about.opset < 7) return false;  // an attribute is_test selected inference mode
  if (about.opset < 12) return true;
  const std::string& training = input(node, 2);
  const graph::Tensor* flag = about.constants.find(training);
  return training.empty() || (flag && flag->data.size() == 1 && flag->data.at<std::uint8_t>(0) == 0);
}

bool stays_in_place(const Node& node) {
  const auto order = integers(node, "perm");
  if (!order) return false;
  for (std::size_t i = 0; i < order->size(); ++i) {
    if ((*order)[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

bool pads_nothing(const Node& node, const About& about) {
  if (about.opset >= 11) return about.all(input(node, 1), 0);
  const auto pads = integers(node, "pads");
  return pads && std::ranges::all_of(*pads, [](std::int64_t one) { return one == 0; });
}

// All axes entirely, in forward order.
bool slices_nothing(const Node& node, const About& about) {
  if (!about.same_shape(node)) return false;
  return about.opset < 10 || input(node, 4).empty() || about.all(input(node, 4), 1);
}

// Index of the input that `node` returns unchanged; -1: none.
int handed_on(const Node& node, const About& about) {
  if (!graph::canonical_domain(node.domain.str()).empty() || node.inputs.empty() || node.outputs.empty())
    return -1;
  const std::string& op = node.op_type.str();
  const auto first = [](bool yes) { return yes ? 0 : -1; };
  if (op == "Identity") return 0;
  if (!about.facts) return -1;
  if (op == "Dropout") return first(drops_nothing(node, about));
  if (op == "Cast") {
    const auto type = about.facts->of(node.inputs[0]).type;
    return first(type != graph::ElementType::undefined &&
                 integer(node, "to", 0) == static_cast<std::int64_t>(type));
  }
  if (op == "Reshape" || op == "Expand" || op == "Flatten" || op == "Squeeze" || op == "Unsqueeze")
    return first(about.same_shape(node));
  if (op == "Transpose") return first(stays_in_place(node));
  if (op == "Pad") return first(pads_nothing(node, about));
  if (op == "Slice") return first(slices_nothing(node, about));
  if (op == "Tile") return first(about.opset >= 6 && about.all(input(node, 1), 1));
  if (op == "Concat" || op == "Sum" || op == "Mean" || op == "Max" || op == "Min")
    return first(node.inputs.size() == 1);
  if (op == "Split") return first(node.outputs.size() == 1 && about.same_shape(node));
  const bool product = op == "Mul", quotient = op == "Div", difference = op == "Sub";
  if ((product || quotient || difference) && node.inputs.size() == 2) {
    const float neutral = difference ? 0.0f : 1.0f;
    for (const std::size_t i : {0, 1}) {
      if (i == 1 && !product) continue;
      const auto other = number(about.constants.find(node.inputs[1 - i]));
      // x − (−0) is not x for x = −0.
      if (other == neutral && !std::signbit(*other) && about.same_shape(node, i)) return static_cast<int>(i);
    }
  }
  return -1;
}

class Remover {
 public:
  Remover(const graph::Model& model, const PassOptions& options)
      : options_(options), constants_(constants_of(model, options)), opset_(model.opset().value_or(1)) {
    if (!options.to_run) facts_.emplace(model, options);  // inference takes longer than the rest of loading
  }

  std::int64_t run(Graph& graph) {
    std::int64_t all = 0;
    while (const std::int64_t changes = sweep(graph)) all += changes;
    return all;
  }

 private:
  std::int64_t sweep(Graph& graph) {
    const graph::Index index(graph);
    const About about{facts_ ? &*facts_ : nullptr, constants_, opset_};
    std::vector<bool> removed(graph.nodes.size());
    graph::Renames renames;
    std::vector<std::pair<std::string, std::string>> produced;  // values that take over the name of an output
    std::int64_t changes = 0;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      const int from = options_.keeps(node) || about.fails(node) ? -1 : handed_on(node, about);
      if (from < 0 || options_.watched.contains(node.outputs[0])) continue;
      const bool others = std::any_of(node.outputs.begin() + 1, node.outputs.end(),
                                      [&](const std::string& name) { return !index.uses(name).empty(); });
      if (others) continue;
      const std::string &in = node.inputs[static_cast<std::size_t>(from)], &out = node.outputs[0];
      if (!index.is_output(out)) {
        renames.add(out, in);
      } else if (const int maker = index.producer(in);
                 maker >= 0 && !removed[static_cast<std::size_t>(maker)] && !index.is_output(in) &&
                 !renames.has(in) && !options_.watched.contains(in)) {
        // Graph outputs keep their name: the producer of the input produces the output instead. This works
        // once per value.
        renames.add(in, out);
        produced.emplace_back(in, out);
      } else {
        continue;
      }
      removed[i] = true;
      ++changes;
    }
    for (const auto& [in, out] : produced) {
      Node& maker = graph.nodes[static_cast<std::size_t>(index.producer(in))];
      std::ranges::replace(maker.outputs, in, out);
    }
    renames.apply(graph);
    remove_nodes(graph, removed);
    return changes;
  }

  const PassOptions& options_;
  std::optional<Facts> facts_;
  const graph::Constants constants_;
  std::int64_t opset_;
};

Result<std::int64_t> run(graph::Model& model, const PassOptions& options) {
  if (!model.graph) return 0;
  std::int64_t changes = 0;
  Remover remover(model, options);
  each_graph_of(model, [&](Graph& graph) { changes += remover.run(graph); });
  return changes;
}

}  // namespace

std::span<const Descriptor> remove_no_ops_descriptors() {
  static const Descriptor all[] = {{.name = "remove_no_ops",
                                    .order = 70,
                                    .summary = "removes nodes that return their input unchanged",
                                    .run = run,
                                    .also = Also::fusing}};
  return all;
}

}  // namespace anybit::passes
