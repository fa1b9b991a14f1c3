#include "api/trials.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "base/error.hpp"
#include "base/try.hpp"
#include "evaluate/levels.hpp"
#include "evaluate/output_parts.hpp"
#include "ops/create/random_stream.hpp"
#include "ops/layout.hpp"
#include "runtime/executor.hpp"

namespace anybit {
namespace {

using ops::Datum;

// A copy in plain layout.
Result<ops::Array> plain_copy(const ops::Array& array, ops::Memory& memory) {
  if (array.layout() == ops::Layout::plain) return array.copy(memory);
  ops::Array plain = TRY(ops::Array::make(memory, array.type(), array.dims()));
  ops::convert_layout(array, plain);
  return plain;
}

// Keeps the watched values of one run.
struct ValueKeeper final : runtime::Watcher {
  std::vector<std::string> names;
  ops::Memory* memory = nullptr;
  NamedValues kept = {};

  Result<void> see(std::size_t watched, const Datum& value) override {
    if (value.is_array()) kept[names[watched]] = TRY(plain_copy(value.array, *memory));
    return {};
  }
};

std::span<const float> floats(const Datum& datum) {
  if (!datum.is_array() || datum.array.type() != graph::ElementType::float32) return {};
  return datum.array.elements<float>();
}

}  // namespace

Effect effect_of(const PartsOfOutputs& parts) {
  Effect worst;
  worst.level = Level::ok;
  for (const std::vector<OutputPart>& output : parts) {
    for (const OutputPart& part : output) {
      if (part.kind == "state") continue;
      const double harm = evaluate::harm_of(part);
      worst.level = std::max(worst.level, evaluate::level_of(part));
      if (!worst.reason.empty() && harm <= worst.harm) continue;
      worst.harm = harm;
      worst.sqnr = part.sqnr;
      worst.reason = evaluate::reason_of(part);
    }
  }
  return worst;
}

Trials::Trials(std::shared_ptr<const graph::Model> model, quantizing::Settings settings,
               std::vector<quantizing::Sample> samples, std::size_t measured, std::function<bool()> stop)
    : model_(std::move(model)),
      index_(*model_->graph),
      states_(*model_->graph),
      settings_(std::move(settings)),
      all_samples_(std::move(samples)),
      samples_(all_samples_.begin(),
               all_samples_.begin() + static_cast<std::ptrdiff_t>(std::min(measured, all_samples_.size()))),
      stop_(std::move(stop)) {}

Result<void> Trials::begin_run() {
  if (stop_ && stop_()) return Error{Code::cancelled, "stopped by the caller", {}, {}};
  ++runs_;
  return {};
}

Result<void> Trials::start(const std::set<std::string>& keep) {
  const auto executor = TRY(runtime::Executor::make(model_, settings_.executor));
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    TRY(begin_run());
    const ops::RepeatableDraws draws(i);
    std::vector<Datum> outputs = TRY(executor->run(samples_[i]));
    for (Datum& one : outputs) {
      if (one.is_array()) one = TRY(plain_copy(one.array, *memory_));
    }
    states_.see(samples_[i], outputs);
    expected_.push_back(std::move(outputs));
  }
  // The sizes of the first sample stand for those of all.
  const std::vector<NamedValues> all = std::exchange(samples_, {samples_[0]});
  auto run = values_of(*model_, keep);
  samples_ = all;
  const std::vector<NamedValues> seen = TRY(std::move(run));
  for (const auto& [name, value] : seen[0])
    bytes_[name] = static_cast<std::int64_t>(value.array.byte_count());
  return {};
}

std::optional<std::int64_t> Trials::bytes_of(const std::string& value) const {
  const auto found = bytes_.find(value);
  if (found == bytes_.end()) return std::nullopt;
  return found->second * samples();
}

Result<quantizing::Outcomes> Trials::quantized(const quantizing::Recipe& recipe, bool refined) const {
  calibrate::NextSample next;
  std::size_t at = 0;
  if (refined)
    next = [&]() -> Result<std::optional<NamedValues>> {
      if (at == all_samples_.size()) return std::optional<NamedValues>();
      return std::optional<NamedValues>(all_samples_[at++]);
    };
  return quantizing::quantize(*model_, recipe, next, settings_);
}

Result<PartsOfOutputs> Trials::whole(const quantizing::Recipe& recipe, bool refined, bool* anything) {
  const quantizing::Outcomes made = TRY(quantized(recipe, refined));
  if (anything)
    *anything = std::ranges::any_of(made.report.nodes, [](const QuantizationReport::Node& node) {
      return node.outcome == "quantized" || node.outcome == "weights only" || node.outcome == "dynamic";
    });
  std::vector<std::size_t> all(made.model.graph->outputs.size());
  std::iota(all.begin(), all.end(), 0);
  return compared(made.model, samples_, all);
}

Result<void> Trials::keep(const std::set<std::string>& values, const quantizing::Recipe& recipe) {
  of_float_.clear();
  of_quantized_.clear();
  of_float_ = TRY(values_of(*model_, values));
  of_quantized_ = TRY(values_of(TRY(quantized(recipe)).model, values));
  return {};
}

Result<PartsOfOutputs> Trials::alone(const quantizing::Recipe& recipe, const passes::Behind& behind) {
  return part(recipe, behind, of_float_);
}

Result<PartsOfOutputs> Trials::left(const quantizing::Recipe& recipe, const passes::Behind& behind) {
  return part(recipe, behind, of_quantized_);
}

std::map<std::string, std::string> Trials::raw_names(const graph::Model& model,
                                                     const std::set<std::string>& values) const {
  std::unordered_map<std::string_view, const graph::Node*> nodes;
  for (const graph::Node& node : model.graph->nodes) nodes.emplace(node.name.str(), &node);
  std::map<std::string, std::string> names;
  for (const std::string& value : values) {
    std::string& name = names[value] = value;
    const int producer = index_.producer(value);
    if (producer < 0) continue;
    const graph::Node& maker = model_->graph->nodes[static_cast<std::size_t>(producer)];
    const auto found = nodes.find(maker.name.str());
    if (maker.name.str().empty() || found == nodes.end() ||
        found->second->op_type.str() != maker.op_type.str())
      continue;
    const auto at = static_cast<std::size_t>(std::ranges::find(maker.outputs, value) - maker.outputs.begin());
    if (at < found->second->outputs.size()) name = found->second->outputs[at];
  }
  return names;
}

Result<std::vector<NamedValues>> Trials::values_of(const graph::Model& model,
                                                   const std::set<std::string>& values) {
  const std::map<std::string, std::string> raw = raw_names(model, values);
  ValueKeeper keeper;
  keeper.memory = memory_.get();
  runtime::ExecutorOptions options = settings_.executor;
  for (const auto& [name, as] : raw) {
    keeper.names.push_back(name);
    options.watch.push_back(as);
  }
  const auto executor = TRY(runtime::Executor::make(std::make_shared<const graph::Model>(model), options));
  std::vector<NamedValues> all;
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    TRY(begin_run());
    const ops::RepeatableDraws draws(i);
    TRY(executor->run(samples_[i], nullptr, &keeper));
    all.push_back(std::exchange(keeper.kept, {}));
  }
  return all;
}

Result<PartsOfOutputs> Trials::part(const quantizing::Recipe& recipe, const passes::Behind& behind,
                                    const std::vector<NamedValues>& given) {
  quantizing::Outcomes made = TRY(quantized(recipe));
  const std::map<std::string, std::string> raw =
      raw_names(made.model, {behind.inputs.begin(), behind.inputs.end()});
  std::vector<passes::PartInput> ports;
  std::vector<NamedValues> inputs(samples_.size());
  for (const auto& [name, as] : raw) {
    graph::TensorType type;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      const ops::Array& value = given[i].at(name).array;
      type.element = static_cast<std::int32_t>(value.type());
      inputs[i].emplace(as, value);
    }
    ports.push_back({as, graph::Type(std::move(type))});
  }
  return compared(passes::part_of(std::move(made.model), ports, behind.outputs), inputs, behind.outputs);
}

Result<PartsOfOutputs> Trials::compared(const graph::Model& model, const std::vector<NamedValues>& inputs,
                                        const std::vector<std::size_t>& outputs) {
  const auto executor =
      TRY(runtime::Executor::make(std::make_shared<const graph::Model>(model), settings_.executor));
  std::vector<evaluate::OutputParts> parts(outputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    NamedValues known;  // a value that the part does not need is not among its inputs
    for (const auto& [name, value] : inputs[i]) {
      if (executor->input(name).ok()) known.emplace(name, value);
    }
    TRY(begin_run());
    const ops::RepeatableDraws draws(i);
    const std::vector<Datum> got = TRY(executor->run(known));
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const Datum& expected = expected_[i][outputs[k]];
      const std::span<const float> a = floats(expected), b = floats(got[k]);
      if (!a.empty() && a.size() == b.size()) parts[k].add(expected.array.dims(), a, b);
    }
  }
  PartsOfOutputs found(model_->graph->outputs.size());
  const std::set<std::string> states = states_.outputs();
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const std::string& name = model_->graph->outputs[outputs[k]].name.str();
    found[outputs[k]] = parts[k].parts(name);
    for (OutputPart& part : found[outputs[k]]) part.kind = states.contains(name) ? "state" : part.kind;
  }
  return found;
}

}  // namespace anybit
