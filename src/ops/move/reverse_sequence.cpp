// ReverseSequence: reverses the first sequence_lens[i] steps of each sequence. ONNX: ReverseSequence-10.
#include <algorithm>

#include "ops/check.hpp"
#include "ops/frame.hpp"
#include "ops/gradient.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<void> run(Frame& frame) {
  const Array& input = frame.in(0);
  const Array& lengths = frame.in(1);
  const std::int64_t time_axis = frame.integer("time_axis", 0), batch_axis = frame.integer("batch_axis", 1);
  if (input.rank() < 2 || time_axis < 0 || time_axis > 1 || batch_axis != 1 - time_axis) {
    return wrong(
        fmt::format("time_axis {} and batch_axis {} of {}", time_axis, batch_axis, to_string(frame.datum(0))),
        "0 and 1, or 1 and 0");
  }
  const std::int64_t times = input.dim(static_cast<std::size_t>(time_axis));
  const std::int64_t batch = input.dim(static_cast<std::size_t>(batch_axis));
  if (lengths.type() != ElementType::int64 || lengths.count() != batch)
    return wrong(fmt::format("sequence_lens are {}", to_string(frame.datum(1))), "an int64 for each sample");
  if (!has_elements(lengths)) return {};
  for (const std::int64_t length : lengths.elements<std::int64_t>()) {
    if (length < 0 || length > times)
      return wrong(fmt::format("a length is {}", length), fmt::format("from 0 to {}", times));
  }
  Array* out = TRY(frame.out(0, input.type(), input.dims()));
  const std::int64_t inner = input.dims().product(2, input.rank());
  const std::int64_t time_step = time_axis == 0 ? batch * inner : inner;
  const std::int64_t batch_step = time_axis == 0 ? inner : times * inner;
  for_copied(input.type(), [&]<class T>(T) {
    for (std::int64_t b = 0; b < batch; ++b) {
      const std::int64_t length = lengths.data<std::int64_t>()[b];
      for (std::int64_t t = 0; t < times; ++t) {
        const std::int64_t source = t < length ? length - 1 - t : t;
        std::copy_n(input.data<T>() + b * batch_step + source * time_step, inner,
                    out->mutable_data<T>() + b * batch_step + t * time_step);
      }
    }
  });
  return {};
}

Result<void> gradient(Gradient& g) {
  g.set(0, g.add("ReverseSequence", {g.dy(), g.input(1)}, g.node.attributes));
  return {};
}

}  // namespace

std::span<const Descriptor> reverse_sequence_descriptors() {
  static const Descriptor all[] = {{.name = "ReverseSequence",
                                    .domain = "",
                                    .since = {10},
                                    .infer = infer_same,
                                    .run = run,
                                    .required = 2,
                                    .traits = moves({.since = 10}),
                                    .gradient = gradient}};
  return all;
}

}  // namespace anybit::ops
