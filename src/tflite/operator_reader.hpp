// One operator of a TFLite file while it is read: its inputs, outputs and options, and the nodes it becomes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "anybit/result.hpp"
#include "tflite/graph_reader.hpp"

namespace anybit::tflite {

class OperatorReader {
 public:
  OperatorReader(GraphReader& graph, const wire::Operator& source, std::string_view name);

  GraphReader& graph() { return graph_; }
  std::string_view name() const { return name_; }

  std::size_t inputs() const { return inputs_.size(); }
  std::size_t outputs() const { return outputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i] >= 0; }
  std::int64_t input(std::size_t i) const { return inputs_[i]; }
  std::int64_t output(std::size_t i = 0) const { return outputs_[i]; }
  const TensorInfo& in(std::size_t i) const { return graph_.info(inputs_[i]); }
  const TensorInfo& out(std::size_t i = 0) const { return graph_.info(outputs_[i]); }
  // All numbers of tensors exist, and there are at least so many; the first `required` inputs are not left
  // out.
  Result<void> check(std::size_t required, std::size_t outputs) const;

  // The options of the operator; all have their defaults if the file has none.
  template <class Options>
  const Options& options() const {
    const auto* found = source_.builtin_options_as<Options>();
    return found ? *found : defaults<Options>();
  }

  // Input i as real numbers, in a layout.
  Result<std::string> value(std::size_t i, Layout layout = Layout::as_stored) {
    return graph_.real(inputs_[i], layout);
  }
  // Its layout; constants have the one that is asked for.
  Layout layout(std::size_t i) const { return graph_.layout(inputs_[i]); }
  // The layout in which inputs of equal rank meet: channels first if one of them has it.
  Layout common_layout() const;
  // The dimension of a layout that is dimension `axis` in the file; negative ones count from the end. Fails
  // if there is no such dimension.
  Result<std::int64_t> axis(std::size_t i, std::int64_t axis, Layout layout = Layout::as_stored) const;
  // Input i as integers; fails if it is not constant.
  Result<Dims> integers(std::size_t i);
  bool constant(std::size_t i) const { return has(i) && graph_.constant(inputs_[i]); }
  // Input i as a constant or computed list of int64, which ONNX takes for shapes, axes and repeats.
  Result<std::string> indices(std::size_t i);

  std::string emit(std::string_view op, std::vector<std::string> inputs,
                   std::vector<graph::Attribute> attributes = {}) {
    return graph_.emit(op, std::move(inputs), std::move(attributes));
  }
  Result<void> define(std::string value, Layout layout = Layout::as_stored, std::size_t i = 0) {
    return graph_.define(outputs_[i], value, layout);
  }
  // The same after a fused activation.
  Result<void> define_activated(std::string value, wire::ActivationFunctionType activation,
                                Layout layout = Layout::as_stored);
  Result<void> fuse(std::string& value, wire::ActivationFunctionType activation);

  Error unsupported(std::string message, std::string hint = {}) const;
  Error invalid(std::string message, std::string hint = {}) const;

 private:
  template <class Options>
  static const Options& defaults() {
    // A table whose vtable has no fields: an offset to the vtable behind it, and the vtable's two sizes.
    static constexpr struct alignas(8) {
      std::int32_t offset = -4;
      std::uint16_t vtable[2] = {4, 4};
    } kEmpty;
    return *reinterpret_cast<const Options*>(&kEmpty);
  }

  GraphReader& graph_;
  const wire::Operator& source_;
  std::string_view name_;
  std::vector<std::int64_t> inputs_, outputs_;
};

}  // namespace anybit::tflite
