// TensorScatter: writes new entries into a cache, at an offset for each sample. ONNX: TensorScatter-24.
#include "ops/check.hpp"
#include "ops/move/scatter_reduction.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<void> check_update(const Frame& frame, std::size_t axis) {
  const Array& cache = frame.in(0);
  const Array& update = frame.in(1);
  bool fits = update.type() == cache.type() && update.rank() == cache.rank() && axis > 0;
  for (std::size_t i = 0; fits && i < cache.rank(); ++i)
    fits = i == axis ? update.dim(i) <= cache.dim(i) : update.dim(i) == cache.dim(i);
  if (fits) return {};
  return wrong(fmt::format("an update {} does not match a cache {} on axis {}", to_string(frame.datum(1)),
                           to_string(frame.datum(0)), axis),
               "the same type and dimensions except on the axis, which must not be the first");
}

Result<void> run(Frame& frame) {
  const Array& cache = frame.in(0);
  const Array& update = frame.in(1);
  const std::size_t axis = TRY(axis_of(frame.integer("axis", -2), cache.rank()));
  TRY(check_update(frame, axis));
  const std::string_view mode = frame.text("mode", "linear");
  if (mode != "linear" && mode != "circular")
    return wrong(fmt::format("mode is '{}'", mode), "linear or circular");
  const std::int64_t batch = cache.dim(0), length = cache.dim(axis), added = update.dim(axis);
  const Array& starts = frame.in(2);
  if (frame.has(2) && (starts.type() != ElementType::int64 || starts.count() != batch))
    return wrong(fmt::format("write_indices are {}", to_string(frame.datum(2))), "an int64 for each sample");
  const std::int64_t outer = cache.dims().product(1, axis),
                     inner = cache.dims().product(axis + 1, cache.rank());
  if (!for_copied(cache.type(), [](auto) {})) return wrong_type(frame, 0);
  const bool known = frame.has(2) && has_elements(starts);
  for (std::int64_t b = 0; known && b < batch; ++b) {
    const std::int64_t start = starts.data<std::int64_t>()[b];
    if (start < 0 || (mode == "linear" && start > length - added))
      return wrong(
          fmt::format("write index {} leaves no room for {} entries in a cache of {}", start, added, length));
  }
  Array* out = TRY(scatter_target(frame));
  if (update.count() == 0) return {};
  for_copied(cache.type(), [&]<class T>(T) {
    for (std::int64_t i = 0; i < batch * outer; ++i) {
      const std::int64_t start = frame.has(2) ? starts.data<std::int64_t>()[i / outer] % length : 0;
      const std::int64_t at_end = std::min(added, length - start);  // the rest wraps around
      const T* from = update.data<T>() + i * added * inner;
      T* to = out->mutable_data<T>() + i * length * inner;
      std::copy_n(from, at_end * inner, to + start * inner);
      std::copy_n(from + at_end * inner, (added - at_end) * inner, to);
    }
  });
  return {};
}

}  // namespace

std::span<const Descriptor> tensor_scatter_descriptors() {
  static const Descriptor all[] = {{.name = "TensorScatter",
                                    .domain = "",
                                    .since = {24},
                                    .infer = infer_same,
                                    .run = run,
                                    .required = 2,
                                    .traits = moves({.since = 24}, {0, 1})}};
  return all;
}

}  // namespace anybit::ops
