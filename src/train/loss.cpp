#include "train/loss.hpp"

#include <cmath>

#include "base/error.hpp"
#include "base/try.hpp"
#include "evaluate/class_rows.hpp"

namespace anybit::train {
namespace {

using graph::ElementType;
using Kind = OutputLoss::Kind;

constexpr double kLeast = 1e-7;  // of probabilities before the logarithm

std::vector<std::int64_t> dims_of(const ops::Array& array) {
  return {array.dims().begin(), array.dims().end()};
}

// The axis of class scores; -1: there is none.
std::int64_t class_axis(const std::vector<const ops::Array*>& seen) {
  const std::size_t rank = seen[0]->rank();
  std::vector<std::size_t> axes;
  if (rank >= 2) axes.push_back(1);
  if (rank >= 3) axes.push_back(rank - 1);
  for (const std::size_t axis : axes) {
    evaluate::ClassRows rows(axis);
    for (const ops::Array* one : seen)
      rows.add(dims_of(*one), one->elements<float>(), one->elements<float>());
    if (rows.likely()) return static_cast<std::int64_t>(axis);
  }
  return -1;
}

bool are_probabilities(const std::vector<const ops::Array*>& seen) {
  return std::ranges::all_of(seen, [](const ops::Array* one) {
    return std::ranges::all_of(one->elements<float>(), [](float x) { return x >= 0 && x <= 1.01F; });
  });
}

Result<OutputLoss> loss_of(const std::string& name, const std::vector<const ops::Array*>& seen,
                           std::string_view asked) {
  OutputLoss loss;
  loss.output = name;
  loss.rank = static_cast<std::int64_t>(seen[0]->rank());
  loss.axis = class_axis(seen);
  const bool scores = asked == "kl" || asked == "ce";
  if (loss.axis < 0 && scores && loss.rank >= 2) loss.axis = loss.rank == 3 ? 2 : 1;
  if (loss.axis < 0 && scores)
    return invalid_argument(
        fmt::format("the loss '{}' for output '{}', which has no axis of classes", asked, name),
        "mse or cosine");
  if (loss.axis >= 0) {
    loss.classes = seen[0]->dim(static_cast<std::size_t>(loss.axis));
    loss.probabilities = are_probabilities(seen);
  }
  loss.kind = asked == "mse"                                  ? Kind::mse
              : asked == "cosine"                             ? Kind::cosine
              : scores || (asked == "auto" && loss.axis >= 0) ? Kind::kl
              : loss.rank >= 2                                ? Kind::cosine
                                                              : Kind::mse;
  return loss;
}

// Nodes of one loss.
class LossWriter {
 public:
  LossWriter(graph::Adder& add, double temperature) : add_(add), temperature_(temperature) {}

  std::string divergence(const OutputLoss& of, const std::string& output, const std::string& target) {
    const std::string cold = add_.number(1 / temperature_);
    const std::string ours = log_softmax(add_.op("Mul", {scores(of, output), cold}), of.axis),
                      theirs = add_.op("Mul", {scores(of, target), cold});
    const std::string share = add_.op("Softmax", {theirs}, {graph::attribute("axis", of.axis)});
    const std::string apart = add_.op("Sub", {log_softmax(theirs, of.axis), ours});
    const std::string rows = sum(add_.op("Mul", {share, apart}), of.axis);
    return add_.op("Mul", {mean(rows), add_.number(temperature_ * temperature_)});
  }

  // `labels` has a one at each row's class.
  std::string cross_entropy(const OutputLoss& of, const std::string& labels) {
    const std::string chosen = add_.op("Mul", {labels, log_softmax(scores(of, of.output), of.axis)});
    return add_.op("Neg", {mean(sum(chosen, of.axis))});
  }

  std::string squared(const std::string& output, const std::string& target) {
    const std::string error = add_.op("Sub", {output, target});
    const std::string power = add_.op("Add", {mean(add_.op("Mul", {target, target})), add_.number(1e-12)});
    return add_.op("Div", {mean(add_.op("Mul", {error, error})), power});
  }

  std::string cosine(const std::string& output, const std::string& target) {
    const std::string x = flat(output), y = flat(target);
    const auto length = [&](const std::string& of) {
      return add_.op("Sqrt", {add_.op("Add", {sum(add_.op("Mul", {of, of}), 1), add_.number(1e-12)})});
    };
    const std::string lengths = add_.op("Mul", {length(x), length(y)});
    const std::string similar = add_.op("Div", {sum(add_.op("Mul", {x, y}), 1), lengths});
    return add_.op("Sub", {add_.number(1), mean(similar)});
  }

 private:
  std::string scores(const OutputLoss& of, const std::string& value) {
    if (!of.probabilities) return value;
    return add_.op("Log", {add_.op("Add", {value, add_.number(kLeast)})});
  }
  std::string log_softmax(const std::string& of, std::int64_t axis) {
    return add_.op("LogSoftmax", {of}, {graph::attribute("axis", axis)});
  }
  std::string sum(const std::string& of, std::int64_t axis) {
    return add_.op("ReduceSum", {of, add_.integers({axis})}, {graph::attribute("keepdims", std::int64_t{0})});
  }
  std::string mean(const std::string& of) {
    return add_.op("ReduceMean", {of}, {graph::attribute("keepdims", std::int64_t{0})});
  }
  std::string flat(const std::string& of) {
    return add_.op("Flatten", {of}, {graph::attribute("axis", std::int64_t{1})});
  }

  graph::Adder& add_;
  double temperature_;
};

}  // namespace

std::string_view name_of(OutputLoss::Kind kind) {
  return kind == Kind::kl ? "kl" : kind == Kind::mse ? "mse" : "cosine";
}

Result<std::vector<OutputLoss>> choose_losses(const std::vector<std::string>& outputs,
                                              const std::vector<std::vector<ops::Array>>& samples,
                                              std::string_view asked) {
  static constexpr std::string_view kKnown[] = {"auto", "kl", "mse", "cosine", "ce"};
  if (std::ranges::find(kKnown, asked) == std::end(kKnown))
    return invalid_argument(fmt::format("no loss '{}'", shown(asked)),
                            fmt::format("one of {}", fmt::join(kKnown, ", ")));
  std::vector<OutputLoss> losses;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::vector<const ops::Array*> seen;
    for (const auto& sample : samples) {
      if (sample[i].type() == ElementType::float32 && sample[i].count() > 0) seen.push_back(&sample[i]);
    }
    if (seen.empty()) continue;
    losses.push_back(TRY(loss_of(outputs[i], seen, asked)));
  }
  if (losses.empty())
    return error_at(Code::unsupported, {},
                    "no output of the model is float32: there is nothing to train for");
  return losses;
}

LossNodes add_loss(graph::Adder& add, const std::vector<OutputLoss>& outputs, double temperature,
                   bool labels) {
  LossNodes nodes;
  LossWriter write(add, temperature);
  std::vector<std::string> terms;
  for (const OutputLoss& one : outputs) {
    const std::string target = add.input(one.output + "_target", ElementType::float32,
                                         std::vector<std::int64_t>(static_cast<std::size_t>(one.rank), -1));
    nodes.targets.push_back(target);
    if (one.kind == Kind::kl) {
      std::string term = write.divergence(one, one.output, target);
      if (labels && nodes.labels.empty()) {
        nodes.labels = add.input("labels", ElementType::float32,
                                 std::vector<std::int64_t>(static_cast<std::size_t>(one.rank), -1));
        const std::string both = add.op("Add", {term, write.cross_entropy(one, nodes.labels)});
        term = add.op("Mul", {both, add.number(0.5)});
      }
      terms.push_back(std::move(term));
      continue;
    }
    std::string term = write.squared(one.output, target);
    if (one.kind == Kind::cosine) term = add.op("Add", {term, write.cosine(one.output, target)});
    terms.push_back(std::move(term));
  }
  nodes.loss = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i) nodes.loss = add.op("Add", {nodes.loss, terms[i]});
  if (terms.size() > 1)
    nodes.loss = add.op("Mul", {nodes.loss, add.number(1 / static_cast<double>(terms.size()))});
  return nodes;
}

}  // namespace anybit::train
