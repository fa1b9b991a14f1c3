#include "runtime/macs.hpp"

#include <algorithm>
#include <array>

#include "base/checked.hpp"

namespace anybit::runtime {
namespace {

// Everything about the call is known; graphs count by themselves.
struct KnownCall final : ops::Call {
  using Call::Call;
  const graph::Attribute* find(std::string_view name) const override { return node.attribute(name); }
  Result<ops::Body> enter(const graph::Graph&, const ops::Values&, std::string_view) const override {
    return ops::Body{};
  }
  void repeat(const ops::Body&, const ops::Dim&) const override {}
  void rule_out(const ops::Body&) const override {}
  std::int64_t work(const ops::Body&) const override { return 0; }
};

ops::Values values_of(const std::vector<int>& indices, std::span<const ops::Datum> slots) {
  ops::Values values;
  for (const int index : indices) {
    const ops::Datum* datum = index >= 0 ? &slots[static_cast<std::size_t>(index)] : nullptr;
    if (!datum || !datum->is_array()) {
      values.emplace_back();
      continue;
    }
    const ops::Dims& dims = datum->array.dims();
    values.push_back(ops::tensor(datum->array.type(), ops::Shape(dims.begin(), dims.end())));
  }
  return values;
}

// Operators whose work grows with the product of what goes in and what comes out, and that have no
// multiply-accumulates to tell it by.
constexpr std::array<std::string_view, 12> kPairwise{"AveragePool", "Col2Im",    "Det",
                                                     "LRN",         "LpPool",    "MaxPool",
                                                     "MaxRoiPool",  "MaxUnpool", "NonMaxSuppression",
                                                     "RoiAlign",    "STFT",      "TfIdfVectorizer"};

std::int64_t elements_of(const ops::Values& values) {
  std::int64_t sum = 0;
  for (const ops::Value& one : values) {
    const ops::Dim count = one.shape ? ops::product(*one.shape) : ops::Dim();
    sum = checked_add(sum, count.size.value_or(0)).value_or(INT64_MAX);
  }
  return sum;
}

}  // namespace

std::int64_t expected_work(const Step& step, std::span<const ops::Datum> slots) {
  const ops::Values inputs = values_of(step.inputs, slots);
  const std::int64_t read = elements_of(inputs);
  const bool pairwise = std::ranges::find(kPairwise, step.descriptor->name) != kPairwise.end();
  if (!step.descriptor->macs && !pairwise) return read;
  std::vector<const ops::Value*> pointers;
  for (const ops::Value& value : inputs) pointers.push_back(&value);
  KnownCall call(*step.node);
  call.version = step.version;
  call.inputs = pointers;
  const auto outputs = step.descriptor->infer(call);
  if (!outputs.ok()) return read;  // it fails before it does anything
  const ops::Dim work =
      pairwise ? ops::Dim(read) * elements_of(*outputs) : step.descriptor->macs(call, *outputs);
  return checked_add(read, work.size.value_or(INT64_MAX)).value_or(INT64_MAX);
}

std::int64_t macs_of(const Step& step, std::span<const ops::Datum> slots) {
  if (!step.descriptor->macs) return 0;
  const ops::Values inputs = values_of(step.inputs, slots);
  const ops::Values outputs = values_of(step.outputs, slots);
  std::vector<const ops::Value*> pointers;
  for (const ops::Value& value : inputs) pointers.push_back(&value);
  KnownCall call(*step.node);
  call.version = step.version;
  call.inputs = pointers;
  return step.descriptor->macs(call, outputs).size.value_or(0);
}

}  // namespace anybit::runtime
