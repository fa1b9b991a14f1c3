// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss, for models with a loss.
#include "numbers.hpp"

namespace anybit::cgen {
namespace {

// Scores are [batch, classes, spatial…], targets [batch, spatial…].
struct Loss {
  Node& node;
  const Value &x, &out;
  std::int64_t batch, classes, places;
  bool softmax;

  explicit Loss(Node& of)
      : node(of),
        x(of.in(0)),
        out(of.out()),
        batch(x.dims[0]),
        classes(x.dims[1]),
        places(x.product(2, x.rank())),
        softmax(of.op() == "SoftmaxCrossEntropyLoss") {
    if (!is_real(x)) node.refuse("unsupported input type {}", x.info().name);
  }

  std::string score(std::string_view c) const {
    return load(node, x, node.x(0), fmt::format("(n * {} + {}) * {} + i", classes, c, places));
  }

  // `away`: the logarithm of the sum of exponentials (log-sum-exp).
  void read_softmax() {
    node.line("{} most = -INFINITY, away = 0;", computed(x));
    node.loop("c", classes);
    node.line("if ({0} > most) most = {0};", score("c"));
    node.end();
    node.line("for (int32_t c = 0; c < {}; ++c) away += {};", classes,
              typed("exp$f($s - most)", x, {{"s", score("c")}}));
    node.line("{}", typed("away = log$f(away) + most;", x));
    if (!node.has_out(1)) return;
    node.loop("c", classes);
    node.line("{}", store(node, node.out(1), node.y(1), fmt::format("(n * {} + c) * {} + i", classes, places),
                          score("c") + " - away"));
    node.end();
  }

  void emit() {
    const std::string reduction = node.text("reduction", "mean");
    const bool each = reduction == "none";
    if (!each) node.line("{} sum = 0, weights = 0;", computed(x));
    node.loop("n", batch);
    node.loop("i", places);
    node.line("const int64_t target = {}[n * {} + i];", node.x(1), places);
    node.line("{} loss = 0, weight = 0;", computed(x));
    if (softmax) read_softmax();
    std::string counts = fmt::format("target >= 0 && target < {}", classes);
    if (node.attribute("ignore_index"))
      counts += fmt::format(" && target != {}", node.integer("ignore_index", 0));
    node.open("if ({})", counts);
    node.line("weight = {};", node.has(2) ? load(node, node.in(2), node.x(2), "target") : "1");
    node.line("loss = ({} - {}) * weight;", softmax ? "away" : "0", score("target"));
    node.close();
    if (each) {
      node.line("{}", store(node, out, node.y(), fmt::format("n * {} + i", places), "loss"));
    } else {
      node.line("sum += loss;");
      node.line("weights += weight;");
    }
    node.end();
    node.end();
    if (!each)
      node.line("{}", store(node, out, node.y(), "0",
                            reduction == "mean" ? "sum / weights" : "((void)weights, sum)"));
  }
};

void emit_loss(Node& node) { Loss(node).emit(); }

}  // namespace

std::span<const Descriptor> loss_descriptors() {
  static constexpr Descriptor all[] = {{"NegativeLogLikelihoodLoss", "", emit_loss},
                                       {"SoftmaxCrossEntropyLoss", "", emit_loss}};
  return all;
}

}  // namespace anybit::cgen
