#include "train/step_graph.hpp"

#include <unordered_map>
#include <unordered_set>

#include "base/error.hpp"
#include "base/try.hpp"
#include "ops/gradient.hpp"
#include "ops/table.hpp"
#include "train/backward.hpp"

namespace anybit::train {
namespace {

using graph::attribute;
using graph::ElementType;
using graph::Model;

// Training operators and the models' own outputs.
Result<void> import_training(Model& model) {
  for (const std::string_view domain : {std::string_view(ops::kTraining), graph::kAnybit}) {
    if (model.opset(domain)) continue;
    graph::OpsetImport import;
    import.domain = graph::Text(domain);
    import.version = 1;
    model.opsets.push_back(std::move(import));
  }
  return {};
}

std::vector<std::string> names_of(const std::vector<Parameter>& parameters) {
  std::vector<std::string> names;
  for (const Parameter& one : parameters) names.push_back(one.name);
  return names;
}

const graph::Tensor* initializer(const Model& model, std::string_view name) {
  const auto found = std::ranges::find_if(model.graph->initializers,
                                          [&](const graph::Tensor& one) { return one.name.str() == name; });
  return found == model.graph->initializers.end() ? nullptr : &*found;
}

class StepWriter {
 public:
  StepWriter(StepGraph& step, const std::vector<Parameter>& parameters, const TrainingOptions& options)
      : step_(step),
        names_(step.model),
        graph_(*step.model.graph, names_),
        parameters_(parameters),
        options_(options) {
    for (const Parameter& one : parameters) dims_.push_back(initializer(step.model, one.name)->dims);
  }

  // `gradients`: of the parameters.
  void write(std::vector<std::string> gradients) {
    step_.rate = graph_.input("rate", ElementType::float32, {});
    if (is_adam()) step_.step = graph_.input("step", ElementType::int64, {});
    std::vector<std::string> variables = names_of(parameters_);
    for (const std::string_view suffix :
         is_adam() ? std::vector<std::string_view>{"_m", "_v"} : std::vector<std::string_view>{"_velocity"})
      append(variables, states(suffix));
    std::vector<std::string> results;
    if (options_.accumulate > 1) {
      results = accumulated(variables, gradients);
    } else {
      results = updated(graph_, variables, std::move(gradients));
    }
    for (std::size_t i = 0; i < variables.size(); ++i) {
      graph_.output(results[i], ElementType::float32, dims_[i % dims_.size()]);
      step_.options.updates.push_back({variables[i], results[i]});
    }
    step_.variables = step_.options.variables = std::move(variables);
  }

 private:
  bool is_adam() const { return options_.optimizer != "sgd"; }
  static void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
    to.insert(to.end(), from.begin(), from.end());
  }

  // A variable for each parameter: zeros.
  std::vector<std::string> states(std::string_view suffix) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      std::int64_t count = 1;
      for (const std::int64_t dim : dims_[i]) count *= dim;
      names.push_back(graph_.floats(parameters_[i].name + std::string(suffix), dims_[i],
                                    std::vector<float>(static_cast<std::size_t>(count))));
    }
    return names;
  }

  // The optimizer's step: parameters and its states afterwards.
  std::vector<std::string> updated(graph::Adder& to, const std::vector<std::string>& variables,
                                   std::vector<std::string> gradients) {
    const std::size_t count = parameters_.size();
    if (options_.clip > 0) {
      std::vector<std::string> clipped{to.number(options_.clip)};
      append(clipped, gradients);
      gradients = to.ops("ClipByGlobalNorm", std::move(clipped), count, {}, ops::kTraining);
    }
    std::vector<std::string> inputs{step_.rate};
    if (is_adam()) inputs.push_back(step_.step);
    inputs.insert(inputs.end(), variables.begin(), variables.begin() + static_cast<std::ptrdiff_t>(count));
    append(inputs, gradients);
    inputs.insert(inputs.end(), variables.begin() + static_cast<std::ptrdiff_t>(count), variables.end());
    std::vector<float> rates, least, decays;
    for (const Parameter& one : parameters_) {
      rates.push_back(static_cast<float>(one.rate));
      least.push_back(one.least);
      decays.push_back(one.decays ? 1.0F : 0.0F);
    }
    return to.ops(
        is_adam() ? "AdamW" : "SgdMomentum", std::move(inputs), variables.size(),
        {attribute("rate_scales", rates), attribute("lower", least), attribute("decay_scales", decays),
         attribute("weight_decay", static_cast<float>(options_.weight_decay))},
        ops::kTraining);
  }

  // Gradients of several batches are added up in further variables; the last batch's run makes the step. The
  // variables afterwards, in order.
  std::vector<std::string> accumulated(std::vector<std::string>& variables,
                                       const std::vector<std::string>& gradients) {
    step_.last = graph_.input("last", ElementType::boolean, {});
    const std::vector<std::string> sums = states("_sum");
    std::vector<std::string> more;
    for (std::size_t i = 0; i < sums.size(); ++i) more.push_back(graph_.op("Add", {sums[i], gradients[i]}));
    graph::Graph then, otherwise;
    {
      graph::Adder add(then, names_);
      const std::string share = add.number(1 / static_cast<double>(options_.accumulate));
      std::vector<std::string> means, after;
      for (const std::string& one : more) means.push_back(add.op("Mul", {one, share}));
      after = updated(add, variables, std::move(means));
      for (const auto& dims : dims_) after.push_back(add.op("ConstantOfShape", {add.integers(dims)}));
      give(add, after);
    }
    {
      graph::Adder add(otherwise, names_);
      std::vector<std::string> after;
      for (const auto* list : {&variables, &more}) {
        for (const std::string& one : *list) after.push_back(add.op("Identity", {one}));
      }
      give(add, after);
    }
    append(variables, sums);
    return graph_.ops("If", {step_.last}, variables.size(),
                      {attribute("then_branch", graph::GraphBox(std::move(then))),
                       attribute("else_branch", graph::GraphBox(std::move(otherwise)))});
  }

  void give(graph::Adder& add, const std::vector<std::string>& values) const {
    for (std::size_t i = 0; i < values.size(); ++i)
      add.output(values[i], ElementType::float32, dims_[i % dims_.size()]);
  }

  StepGraph& step_;
  graph::Names names_;
  graph::Adder graph_;
  const std::vector<Parameter>& parameters_;
  const TrainingOptions& options_;
  std::vector<std::vector<std::int64_t>> dims_;  // of the parameters
};

}  // namespace

Result<StepGraph> make_loss_graph(Model forward, const std::vector<Parameter>& parameters,
                                  const std::vector<OutputLoss>& losses, const TrainingOptions& options) {
  StepGraph step;
  step.model = std::move(forward);
  TRY(import_training(step.model));
  {
    graph::Names names(step.model);
    graph::Adder add(*step.model.graph, names);
    step.targets = add_loss(add, losses, options.temperature, !options.labels.empty());
    step.loss = step.targets.loss;
    add.output(step.loss, ElementType::float32, {});
  }
  step.variables = step.options.variables = names_of(parameters);
  return step;
}

Result<StepGraph> make_step_graph(Model forward, const std::vector<Parameter>& parameters,
                                  const std::vector<OutputLoss>& losses, const TrainingOptions& options) {
  StepGraph step = TRY(make_loss_graph(std::move(forward), parameters, losses, options));
  const auto gradients = TRY(add_gradients(step.model, step.loss, names_of(parameters)));
  StepWriter(step, parameters, options).write(gradients);
  return step;
}

Reach reachable(const Model& model, const std::vector<std::string>& names) {
  const graph::Graph& graph = *model.graph;
  std::unordered_set<std::string> needed;                // outputs depend on them
  std::unordered_map<std::string, std::string> blocked;  // by value: the node in the way
  for (const graph::ValueInfo& one : graph.outputs) needed.insert(one.name.str());
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const graph::Node& node = graph.nodes[i];
    const bool leads =
        std::ranges::any_of(node.outputs, [&](const auto& out) { return needed.contains(out); });
    if (!leads) continue;
    const ops::Descriptor* op = ops::find(node.domain.str(), node.op_type.str());
    if (op && op->gradient == &ops::no_gradient) continue;
    std::string in_the_way = op && op->gradient ? std::string() : graph::place_of(node, i);
    for (const std::string& out : node.outputs) {
      if (const auto found = blocked.find(out); in_the_way.empty() && found != blocked.end())
        in_the_way = found->second;
    }
    for (const std::string& in : node.inputs) {
      needed.insert(in);
      if (!in_the_way.empty()) blocked.try_emplace(in, in_the_way);
    }
  }
  Reach reach;
  for (const std::string& name : names) {
    if (const auto found = blocked.find(name); found != blocked.end()) {
      reach.blocked.emplace(name, found->second);
    } else if (needed.contains(name)) {
      reach.reached.push_back(name);
    } else {
      reach.blocked.emplace(name, std::string());
    }
  }
  return reach;
}

}  // namespace anybit::train
