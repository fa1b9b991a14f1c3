// Trilu: the upper or lower triangle of matrices, zeros elsewhere. ONNX: Trilu-14.
#include <algorithm>

#include "ops/frame.hpp"
#include "ops/gradient.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<void> run(Frame& frame) {
  const Array& input = frame.in(0);
  const std::size_t rank = input.rank();
  if (rank < 2) return wrong(fmt::format("the input is {}", to_string(frame.datum(0))), "matrices");
  const std::int64_t rows = input.dim(rank - 2), columns = input.dim(rank - 1);
  const std::int64_t given = frame.has(1) ? TRY(integer_from(frame.in(1), "k")) : 0;
  const std::int64_t k = std::clamp(given, -rows, columns);
  const bool upper = frame.flag("upper", true);
  Array* out = TRY(frame.out_over(0, 0, input.type(), input.dims()));
  const bool in_place = out->bytes() == input.bytes();
  for_copied(input.type(), [&]<class T>(T) {
    const auto body = [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        const T* from = input.data<T>() + row * columns;
        T* to = out->mutable_data<T>() + row * columns;
        // Kept part of the row: from the diagonal on, or up to it.
        const std::int64_t diagonal = row % rows + k;
        const std::int64_t begin = upper ? std::clamp<std::int64_t>(diagonal, 0, columns) : 0;
        const std::int64_t end = upper ? columns : std::clamp<std::int64_t>(diagonal + 1, 0, columns);
        std::fill(to, to + begin, T());
        if (!in_place) std::copy(from + begin, from + end, to + begin);
        std::fill(to + end, to + columns, T());
      }
    };
    parallel(frame, columns == 0 ? 0 : input.count() / columns, 5.0 + 0.5 * static_cast<double>(columns),
             std::ref(body));
  });
  return {};
}

Result<void> gradient(Gradient& g) {
  const std::string diagonal = g.has(1) ? g.input(1) : std::string();
  g.set(0, g.add("Trilu", {g.dy(), diagonal}, attributes_of(g, {"upper"})));
  return {};
}

}  // namespace

std::span<const Descriptor> trilu_descriptors() {
  static const Descriptor all[] = {{.name = "Trilu",
                                    .domain = "",
                                    .since = {14},
                                    .infer = infer_same,
                                    .run = run,
                                    .traits = moves(),
                                    .gradient = gradient}};
  return all;
}

}  // namespace anybit::ops
