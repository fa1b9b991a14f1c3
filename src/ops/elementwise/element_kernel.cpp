#include "ops/elementwise/element_kernel.hpp"

#include <deque>

#include "ops/check.hpp"

namespace anybit::ops {
namespace {

// A frame without memory, whose varying inputs are single numbers.
class ProbingFrame final : public Frame {
 public:
  ProbingFrame(const graph::Node& node, std::int64_t at_version, std::span<const Datum* const> inputs)
      : Frame(node) {
    version = at_version;
    inputs_ = inputs;
    prepared_ = &probe;
    static ThreadPool alone(1);
    pool_ = &alone;
  }

  ElementProbe probe;

  const graph::Attribute* find(std::string_view name) const override { return node.attribute(name); }
  Result<void> make_plain(std::size_t) override { return {}; }
  Result<Array*> out(std::size_t, ElementType, const Dims&, Layout) override { return not_known(); }
  Result<Array*> out_over(std::size_t, std::size_t, ElementType, const Dims&) override { return not_known(); }
  Result<void> share(std::size_t, std::size_t, const Dims&) override { return not_known(); }
  Result<void> set(std::size_t, Datum) override { return not_known(); }
  Result<Datum> keep(const Datum&) override { return not_known(); }
  Result<std::byte*> scratch(std::int64_t) override { return not_known(); }
  Result<std::span<const Datum>> call(std::string_view, std::span<const Datum>) override {
    return not_known();
  }
  Memory& memory() override {
    static const std::shared_ptr<Memory> none = Memory::make();
    return *none;
  }
};

}  // namespace

std::optional<ElementKernel> element_kernel(const graph::Node& node, const Descriptor& descriptor,
                                            std::int64_t version, std::span<const Array* const> constants) {
  if (!descriptor.run || descriptor.prepare || !descriptor.pure || constants.size() < descriptor.required)
    return std::nullopt;
  float zero = 0;
  std::deque<Datum> data;
  std::vector<const Datum*> inputs;
  for (std::size_t i = 0; i < constants.size(); ++i) {
    const bool left_out = i >= node.inputs.size() || node.inputs[i].empty();
    const bool single = constants[i] && constants[i]->count() == 1;
    if (!left_out)
      data.push_back(single ? *constants[i]
                            : Array::over(ElementType::float32, {}, reinterpret_cast<std::byte*>(&zero)));
    inputs.push_back(left_out ? nullptr : &data.back());
  }
  ProbingFrame frame(node, version, inputs);
  static_cast<void>(descriptor.run(frame));  // ends at the probe, or where memory is asked for
  return frame.probe.found;
}

}  // namespace anybit::ops
