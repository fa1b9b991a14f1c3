// ConvTranspose: each input element scatters a kernel. ONNX: ConvTranspose-1, -11, -22.
#include "ops/rules.hpp"
#include "ops/window.hpp"

namespace anybit::ops {
namespace {

Result<Shape> spread(const Call& call, const Window& window, std::span<const Dim> input) {
  const auto wanted = call.integers("output_shape");
  const auto extra = call.integers("output_padding");
  Shape shape;
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (wanted && wanted->size() >= input.size()) {  // old files give batch and channels too
      shape.push_back((*wanted)[wanted->size() - input.size() + i]);
      continue;
    }
    if (window.padding == Window::Padding::same_upper || window.padding == Window::Padding::same_lower) {
      shape.push_back(input[i] * window.stride[i]);
      continue;
    }
    const Dim extent = window.dilation[i] * (window.kernel[i] - 1) + 1;
    const Dim added = extra && i < extra->size() ? Dim((*extra)[i]) : Dim(0);
    Dim size = window.stride[i] * (input[i] - 1) + added + extent - window.before[i] - window.after[i];
    if (size.known() && *size.size < 0) return wrong("the padding removes more than the kernel spreads");
    shape.push_back(std::move(size));
  }
  return shape;
}

Result<Values> infer(const Call& call) {
  const Value& x = call.in(0);
  const Value& w = call.in(1);
  if (!x.shape) return outputs_of(call, tensor(x.type, std::nullopt));
  if (x.shape->size() < 3) return wrong("the input needs batch, channels and space");
  if (w.shape && w.shape->size() != x.shape->size()) {
    return wrong(fmt::format("the weight has rank {}, the input {}", w.shape->size(), x.shape->size()));
  }
  const auto kernel = TRY(kernel_of(call, w.shape, x.shape->size() - 2));
  const Window window = TRY(window_of(call, kernel));
  Shape shape = TRY(spread(call, window, std::span(*x.shape).subspan(2)));
  const Dim channels = w.shape ? (*w.shape)[1] * Dim(call.integer("group", 1)) : Dim();
  shape.insert(shape.begin(), {(*x.shape)[0], channels});
  return outputs_of(call, tensor(x.type, std::move(shape)));
}

Dim macs(const Call& call, std::span<const Value>) {
  const auto& w = call.in(1).shape;
  if (!call.in(0).shape || !w || w->size() < 2) return {};
  return product(*call.in(0).shape) * product(std::span(*w).subspan(1));
}

}  // namespace

std::span<const Descriptor> conv_transpose_descriptors() {
  static const Descriptor all[] = {
      {.name = "ConvTranspose", .domain = "", .since = {1, 11, 22}, .infer = infer, .macs = macs}};
  return all;
}

}  // namespace anybit::ops
