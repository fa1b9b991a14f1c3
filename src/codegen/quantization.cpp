#include "codegen/quantization.hpp"

#include <algorithm>

#include "ops/quantized/quantization.hpp"
#include "runtime/quantized.hpp"

namespace anybit::codegen {
namespace {

using ops::Array;
using ops::ElementType;
using runtime::Program;
using runtime::Step;

int slot_of(const std::vector<int>& slots, int number) {
  return number >= 0 && static_cast<std::size_t>(number) < slots.size()
             ? slots[static_cast<std::size_t>(number)]
             : -1;
}

std::vector<std::int32_t> zero_points(const Array& stored, std::size_t count) {
  std::vector<std::int32_t> points(count);
  for (std::size_t i = 0; i < count; ++i)
    points[i] = ops::code_at(stored, stored.count() == 1 ? 0 : static_cast<std::int64_t>(i));
  const bool any = std::ranges::any_of(points, [](std::int32_t point) { return point != 0; });
  return any ? points : std::vector<std::int32_t>();
}

class Finder {
 public:
  Finder(const Program& program, const ops::Values& values)
      : program_(program), values_(values), found_(program.slots.size()) {}

  std::vector<std::optional<Quantization>> run() {
    for (const Step& step : program_.steps) {
      for (const ops::QuantizedTensor& one : step.descriptor->quantized) add(step, one);
    }
    for (const Step& step : program_.steps) hand_on(step, true);
    for (auto step = program_.steps.rbegin(); step != program_.steps.rend(); ++step) hand_on(*step, false);
    return std::move(found_);
  }

 private:
  void add(const Step& step, const ops::QuantizedTensor& where) {
    const int slot =
        where.output >= 0 ? slot_of(step.outputs, where.output) : slot_of(step.inputs, where.input);
    const runtime::Parameters read = runtime::parameters_of(program_, step, where);
    if (slot < 0 || !read.scale || read.scale->type() != ElementType::float32 || read.scale->count() == 0)
      return;
    if (found_[static_cast<std::size_t>(slot)]) return;
    Quantization about;
    if (!read.per_tensor()) {  // per channel
      const auto& shape = values_[static_cast<std::size_t>(slot)].shape;
      const auto axis = graph::axis_in(read.axis, shape ? std::ssize(*shape) : 0);
      if (!axis || read.scale->rank() != 1 ||
          (*shape)[static_cast<std::size_t>(*axis)].size != read.scale->count())
        return;
      about.axis = static_cast<std::int32_t>(*axis);
    }
    const auto numbers = read.scale->elements<float>();
    about.scales.assign(numbers.begin(), numbers.end());
    if (read.has_zero_point) {
      const Array* stored = read.zero_point;  // may be one for all channels
      if (!stored || (stored->count() != 1 && stored->count() != read.scale->count())) return;
      about.zero_points = zero_points(*stored, about.scales.size());
    }
    found_[static_cast<std::size_t>(slot)] = std::move(about);
  }

  // Copies the parameters from the first input of a pass-through or clamping operator to its output, or back.
  void hand_on(const Step& step, bool forward) {
    const ops::Traits& traits = step.descriptor->traits;
    const bool keeps = traits.role_in(*step.node) == ops::Traits::Role::move || traits.clamps;
    if (!keeps || step.inputs.empty() || step.outputs.empty() || step.inputs[0] < 0 || step.outputs[0] < 0)
      return;
    const auto in = static_cast<std::size_t>(step.inputs[0]), out = static_cast<std::size_t>(step.outputs[0]);
    auto &from = found_[forward ? in : out], &to = found_[forward ? out : in];
    if (from && !to && from->scales.size() == 1 && values_[in].type == values_[out].type) to = from;
  }

  const Program& program_;
  const ops::Values& values_;
  std::vector<std::optional<Quantization>> found_;
};

}  // namespace

std::vector<std::optional<Quantization>> quantization_of(const Program& program, const ops::Values& values) {
  return Finder(program, values).run();
}

}  // namespace anybit::codegen
