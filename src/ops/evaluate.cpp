#include "ops/evaluate.hpp"

#include <algorithm>
#include <deque>

#include "base/checked.hpp"
#include "ops/layout.hpp"

namespace anybit::ops {
namespace {

// A frame in which every array has its own memory.
class EvaluationFrame final : public Frame {
 public:
  EvaluationFrame(const Evaluation& evaluation, const Resources& resources)
      : Frame(evaluation.node),
        outputs(evaluation.node.outputs.size()),
        resources_(resources),
        pointers_(evaluation.inputs.begin(), evaluation.inputs.end()) {
    version = evaluation.version;
    pool_ = &resources.pool;
    inputs_ = pointers_;
  }

  std::vector<Datum> outputs;
  bool beyond_budget = false;

  Result<void> run(const Descriptor& descriptor) {
    for (std::size_t i = 0; descriptor.layouts == Layouts::plain && i < pointers_.size(); ++i)
      TRY(make_plain(i));
    return descriptor.run(*this);
  }

  const graph::Attribute* find(std::string_view name) const override { return node.attribute(name); }

  Result<void> make_plain(std::size_t i) override {
    if (i >= pointers_.size() || !pointers_[i] || !pointers_[i]->is_array()) return {};
    const Array& before = pointers_[i]->array;
    if (before.layout() == Layout::plain) return {};
    Array plain = TRY(make(before.type(), before.dims(), Layout::plain));
    convert_layout(before, plain);
    pointers_[i] = &made_.emplace_back(std::move(plain));
    return {};
  }

  Result<Array*> out(std::size_t i, ElementType type, const Dims& dims, Layout layout) override {
    Datum& to = wants(i) ? outputs[i] : made_.emplace_back();
    to = TRY(make(type, dims, layout));
    return &to.array;
  }
  Result<Array*> out_over(std::size_t i, std::size_t over, ElementType type, const Dims& dims) override {
    return out(i, type, dims, in(over).layout());
  }
  Result<void> share(std::size_t i, std::size_t from, const Dims& dims) override {
    if (wants(i)) outputs[i] = TRY(keep(in(from).reshaped(dims)));
    return {};
  }
  Result<void> set(std::size_t i, Datum value) override {
    if (wants(i)) outputs[i] = TRY(keep(value));
    return {};
  }
  Result<Datum> keep(const Datum& value) override {
    if (!value.is_array() || value.array.owned()) return value;
    return Datum(TRY(value.array.copy(memory())));
  }
  Result<std::byte*> scratch(std::int64_t bytes) override {
    TRY(charge(bytes, bytes));
    return scratch_.emplace_back(TRY(memory().take(bytes))).data();
  }
  Result<std::span<const Datum>> call(std::string_view, std::span<const Datum>) override {
    return error_at(Code::unsupported, {}, "subgraphs are not folded");
  }
  Memory& memory() override { return *resources_.memory; }

 private:
  Result<Array> make(ElementType type, const Dims& dims, Layout layout) {
    TRY(charge(TRY(array_bytes(type, dims, layout)), dims.count()));
    return Array::make(memory(), type, dims, layout);
  }
  Result<void> charge(std::int64_t bytes, std::int64_t elements) {
    if (resources_.afford(bytes, elements)) return {};
    beyond_budget = true;
    return error_at(Code::limit_exceeded, {}, "constant folding would exceed its limit of work");
  }

  const Resources& resources_;
  std::vector<const Datum*> pointers_;
  std::deque<Datum> made_;  // plain copies and unused outputs; addresses are stable
  std::vector<Block> scratch_;
};

// A call whose inputs are known; subgraphs count their own work.
struct KnownCall final : Call {
  using Call::Call;
  const graph::Attribute* find(std::string_view name) const override { return node.attribute(name); }
  Result<Body> enter(const graph::Graph&, const Values&, std::string_view) const override { return Body{}; }
  void repeat(const Body&, const Dim&) const override {}
  void rule_out(const Body&) const override {}
  std::int64_t work(const Body&) const override { return 0; }
};

Values values_of(std::span<const Datum* const> data) {
  Values values;
  for (const Datum* datum : data) {
    if (!datum || !datum->is_array()) {
      values.emplace_back();
      continue;
    }
    const Array& array = datum->array;
    Value& value = values.emplace_back(tensor(array.type(), Shape(array.dims().begin(), array.dims().end())));
    // Shapes computed by a model have this form.
    if (array.type() == ElementType::int64 && array.count() <= kFollowed)
      value.elements.emplace(array.data<std::int64_t>(), array.data<std::int64_t>() + array.count());
  }
  return values;
}

std::vector<const Value*> pointers_to(const Values& values) {
  std::vector<const Value*> pointers;
  for (const Value& value : values) pointers.push_back(&value);
  return pointers;
}

// The outputs according to the operator's inference rule; nothing if it rejects the inputs.
std::optional<Values> inferred(const Evaluation& evaluation, const Values& inputs, KnownCall& call,
                               std::vector<const Value*>& pointers) {
  pointers = pointers_to(inputs);
  call.version = evaluation.version;
  call.inputs = pointers;
  auto outputs = evaluation.descriptor.infer(call);
  return outputs.ok() ? std::optional(std::move(outputs).value()) : std::nullopt;
}

std::int64_t elements_of(const Values& values) {
  std::int64_t sum = 0;
  for (const Value& one : values) {
    const Dim count = one.shape ? product(*one.shape) : Dim();
    sum = checked_add(sum, count.size.value_or(0)).value_or(INT64_MAX);
  }
  return sum;
}

}  // namespace

std::optional<std::vector<Datum>> evaluate(const Evaluation& evaluation, const Resources& resources,
                                           const std::string& place) {
  EvaluationFrame frame(evaluation, resources);
  graph::Budget* budget = resources.budget;
  const bool affordable = !budget || budget->take_elements(expected_work(evaluation));
  if (affordable && frame.run(evaluation.descriptor).ok()) return std::move(frame.outputs);
  if (budget && (!affordable || frame.beyond_budget)) budget->leave(place);
  return std::nullopt;
}

std::int64_t expected_work(const Evaluation& evaluation) {
  const Descriptor& descriptor = evaluation.descriptor;
  const Values inputs = values_of(evaluation.inputs);
  const std::int64_t read = elements_of(inputs);
  if (!descriptor.macs && !descriptor.pairwise) return read;
  std::vector<const Value*> pointers;
  KnownCall call(evaluation.node);
  const auto outputs = inferred(evaluation, inputs, call, pointers);
  if (!outputs) return read;  // it fails before it computes anything
  const Dim work = descriptor.pairwise ? Dim(read) * elements_of(*outputs) : descriptor.macs(call, *outputs);
  return checked_add(read, work.size.value_or(INT64_MAX)).value_or(INT64_MAX);
}

std::int64_t expected_bytes(const Evaluation& evaluation) {
  std::vector<const Value*> pointers;
  KnownCall call(evaluation.node);
  const Values inputs = values_of(evaluation.inputs);
  const auto outputs = inferred(evaluation, inputs, call, pointers);
  std::int64_t sum = 0;
  for (const Value& one : outputs.value_or(Values())) {
    const Dim count = one.shape ? product(*one.shape) : Dim();
    if (!count.known() || one.type == ElementType::undefined) continue;
    const auto bytes = checked_mul(*count.size, static_cast<std::int64_t>(element_bytes(one.type)));
    sum = checked_add(sum, bytes.value_or(INT64_MAX)).value_or(INT64_MAX);
  }
  return sum;
}

std::int64_t macs_of(const Evaluation& evaluation, std::span<const Datum* const> outputs) {
  if (!evaluation.descriptor.macs) return 0;
  const Values inputs = values_of(evaluation.inputs), made = values_of(outputs);
  const std::vector<const Value*> pointers = pointers_to(inputs);
  KnownCall call(evaluation.node);
  call.version = evaluation.version;
  call.inputs = pointers;
  return evaluation.descriptor.macs(call, made).size.value_or(0);
}

}  // namespace anybit::ops
