// One call of an operator, along every path by which a model can reach it.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "graph/verify.hpp"
#include "ops/attribute_kinds.hpp"
#include "ops/check.hpp"
#include "ops/infer.hpp"
#include "ops/table.hpp"
#include "random_call.hpp"

namespace anybit::ops::testing {

inline graph::ValueInfo port(const std::string& name, const Given& given, int hidden) {
  std::vector<std::string> dims;
  for (std::size_t i = 0; i < given.dims.size(); ++i) {
    const bool shown = hidden != 1 || (given.seed >> i & 1) != 0;
    dims.push_back(shown ? std::to_string(given.dims[i]) : i % 2 ? "n" : "");
  }
  graph::ValueInfo info = value(name, dims, given.type);
  graph::Type& type = *info.type;
  if (hidden == 2 || given.kind == Datum::Kind::sequence)
    std::get<graph::TensorType>(type.kind).shape.reset();
  if (given.kind == Datum::Kind::sequence) {
    info.type = graph::Type(graph::SequenceType{graph::TypeBox(type), {}});
  } else if (given.kind == Datum::Kind::nothing) {
    info.type = graph::Type(graph::OptionalType{graph::TypeBox(type), {}});
  }
  if (hidden == 3 && given.seed % 2 == 0) info.type.reset();
  return info;
}

// One call, along every path to its operator.
class CallPaths {
 public:
  CallPaths(const Descriptor& op, std::int64_t version, const RandomCall& call, std::set<std::string>& asked)
      : op_(op), version_(version), call_(call), asked_(asked) {
    std::vector<std::string> inputs, outputs;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      data_.push_back(datum_of(call.inputs[i]));
      inputs.push_back(call.inputs[i].absent ? "" : "x" + std::to_string(i));
    }
    for (std::size_t i = 0; i < call.wanted.size(); ++i)
      outputs.push_back(call.wanted[i] ? "y" + std::to_string(i) : "");
    node_ = node(std::string(op.name), inputs, outputs, {}, std::string(op.domain));
    for (const auto& [name, value] : call.attributes) {
      node_.attributes.push_back(attribute(name, value));
      // An empty list is identified by its kind alone.
      if (std::holds_alternative<std::monostate>(value))
        node_.attributes.back().kind = static_cast<std::int32_t>(graph::AttributeKind::strings);
    }
  }

  // As in `inspect`. Nothing if no model can contain this call.
  std::optional<Inference> infer() {
    graph::Graph graph;
    for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
      const std::string& name = node_.inputs[i];
      if (name.empty()) continue;
      if (call_.inputs[i].constant) {
        graph.initializers.push_back(data_[i].array.to_constant());
        graph.initializers.back().name = graph::Text(name);
      } else {
        graph.inputs.push_back(port(name, call_.inputs[i], call_.hidden));
      }
    }
    graph.nodes.push_back(node_);
    for (const std::string& name : node_.outputs) {
      if (name.empty()) continue;
      graph.outputs.emplace_back();
      graph.outputs.back().name = graph::Text(name);
    }
    model_ = model(std::move(graph), op_.domain.empty() ? version_ : 21);
    model_.ir_version = 13;
    if (!op_.domain.empty()) {
      graph::OpsetImport import;
      import.domain = graph::Text(std::string(op_.domain));
      import.version = version_;
      model_.opsets.push_back(import);
    }
    if (const auto verified = graph::verify(model_); !verified.ok()) return std::nullopt;
    auto inference = ops::infer(model_);
    if (!inference.ok()) return std::nullopt;
    return std::move(inference).value();
  }

  // As in the executor, or as in constant folding. `retyped`: another value for an input.
  Result<std::vector<Datum>> run(bool prepares, const Datum* retyped = nullptr, std::size_t which = 0) {
    if (!op_.run) return not_known();
    TRY(check_attributes(node_));
    TRY(check_inputs(op_, node_));
    std::vector<const Datum*> inputs;
    std::vector<const Array*> constants;
    const auto is_constant = std::make_unique<bool[]>(data_.size());
    for (std::size_t i = 0; i < data_.size(); ++i) {
      const Datum* datum = retyped && i == which ? retyped : &data_[i];
      inputs.push_back(call_.inputs[i].absent ? nullptr : datum);
      is_constant[i] = call_.inputs[i].constant && !call_.inputs[i].absent;
      constants.push_back(is_constant[i] ? &datum->array : nullptr);
    }
    std::shared_ptr<const Prepared> prepared;
    static const std::shared_ptr<Memory> memory = Memory::make();
    if (prepares && op_.prepare) {
      struct NodeSetup final : Setup {
        using Setup::Setup;
        std::set<std::string>* asked = nullptr;
        const graph::Attribute* find(std::string_view name) const override {
          asked->emplace(name);
          return node.attribute(name);
        }
      } setup(node_);
      setup.asked = &asked_;
      setup.version = version_;
      setup.constants = constants;
      setup.memory = memory.get();
      setup.output_count = static_cast<std::int64_t>(node_.outputs.size());
      prepared = TRY(op_.prepare(setup));
    }
    const std::span<const bool> constant(is_constant.get(), prepares ? data_.size() : 0);
    PlainFrame frame(node_, version_, inputs, constant, prepared.get(), &asked_);
    TRY(op_.run(frame));
    return std::move(frame.outputs);
  }

  const std::vector<Datum>& data() const { return data_; }

 private:
  const Descriptor& op_;
  std::int64_t version_;
  const RandomCall& call_;
  std::set<std::string>& asked_;
  std::vector<Datum> data_;
  graph::Node node_;
  graph::Model model_;
};

// The difference between an inferred output and the actual one; empty if there is none.
inline std::string difference(const Value& inferred, const Datum& made) {
  if (inferred.type == ElementType::undefined || !made.is_array()) return {};
  if (inferred.type != made.array.type()) return "type " + graph::name_of(inferred.type);
  if (!inferred.shape) return {};
  bool same = inferred.shape->size() == made.array.rank();
  for (std::size_t i = 0; same && i < made.array.rank(); ++i) {
    const Dim& dim = (*inferred.shape)[i];
    same = !dim.known() || *dim.size == made.array.dim(i);
  }
  return same ? std::string() : "shape " + ops::to_string(inferred);
}

}  // namespace anybit::ops::testing
