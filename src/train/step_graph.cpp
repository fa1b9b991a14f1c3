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

// A state of the optimizer for each parameter: zeros.
std::vector<std::string> add_states(Emit& emit, const Model& model, const std::vector<Parameter>& parameters,
                                    std::string_view suffix) {
  std::vector<std::string> names;
  for (const Parameter& one : parameters) {
    const graph::Tensor* value = initializer(model, one.name);
    std::vector<float> zeros(static_cast<std::size_t>(value->count()));
    const std::vector<std::int64_t> dims = value->dims;
    names.push_back(emit.floats(one.name + std::string(suffix), dims, std::move(zeros)));
  }
  return names;
}

class StepWriter {
 public:
  StepWriter(StepGraph& step, const std::vector<Parameter>& parameters, const TrainingOptions& options)
      : step_(step), emit_(step.model), parameters_(parameters), options_(options) {}

  // `gradients`: of the parameters.
  void write(std::vector<std::string> gradients) {
    if (options_.clip > 0) gradients = clipped(gradients);
    step_.rate = emit_.input("rate", ElementType::float32, {});
    const bool adam = options_.optimizer != "sgd";
    std::vector<std::string> inputs{step_.rate};
    if (adam) inputs.push_back(step_.step = emit_.input("step", ElementType::int64, {}));
    const auto append = [&](const std::vector<std::string>& names) {
      inputs.insert(inputs.end(), names.begin(), names.end());
    };
    std::vector<std::string> variables = names_of(parameters_);
    append(variables);
    append(gradients);
    for (const std::string_view suffix :
         adam ? std::vector<std::string_view>{"_m", "_v"} : std::vector<std::string_view>{"_velocity"}) {
      const auto states = add_states(emit_, step_.model, parameters_, suffix);
      append(states);
      variables.insert(variables.end(), states.begin(), states.end());
    }
    std::vector<float> rates, least, decays;
    for (const Parameter& one : parameters_) {
      rates.push_back(static_cast<float>(one.rate));
      least.push_back(one.least);
      decays.push_back(one.decays ? 1.0F : 0.0F);
    }
    std::vector<graph::Attribute> attributes{
        attribute("rate_scales", rates), attribute("lower", least), attribute("decay_scales", decays),
        attribute("weight_decay", static_cast<float>(options_.weight_decay))};
    const auto results =
        emit_.ops(adam ? "AdamW" : "SgdMomentum", inputs, variables.size(), attributes, ops::kTraining);
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const graph::Tensor* value = initializer(step_.model, variables[i]);
      emit_.output(results[i], ElementType::float32, value->dims);
      step_.options.updates.push_back({variables[i], results[i]});
    }
    step_.variables = step_.options.variables = std::move(variables);
  }

 private:
  std::vector<std::string> clipped(const std::vector<std::string>& gradients) {
    std::vector<std::string> inputs{emit_.number(options_.clip)};
    inputs.insert(inputs.end(), gradients.begin(), gradients.end());
    return emit_.ops("ClipByGlobalNorm", inputs, gradients.size(), {}, ops::kTraining);
  }

  StepGraph& step_;
  Emit emit_;
  const std::vector<Parameter>& parameters_;
  const TrainingOptions& options_;
};

}  // namespace

Result<StepGraph> make_loss_graph(Model forward, const std::vector<Parameter>& parameters,
                                  const std::vector<OutputLoss>& losses, const TrainingOptions& options) {
  StepGraph step{std::move(forward), {}, {}, {}, {}, {}, {}};
  TRY(import_training(step.model));
  {
    Emit emit(step.model);
    step.targets = add_loss(emit, losses, options.temperature, !options.labels.empty());
    step.loss = step.targets.loss;
    emit.output(step.loss, ElementType::float32, {});
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
