// AffineGrid: the sampling grid of an affine transform, for GridSample. ONNX: AffineGrid-20.
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  const auto& size = call.in(1).elements;
  if (!size || (size->size() != 4 && size->size() != 5))
    return outputs_of(call, tensor(call.in(0).type, std::nullopt));
  Shape shape{(*size)[0]};
  shape.insert(shape.end(), size->begin() + 2, size->end());
  shape.push_back(static_cast<std::int64_t>(size->size()) - 2);
  return outputs_of(call, tensor(call.in(0).type, std::move(shape)));
}

// The centre of pixel i of n, from -1 to 1.
double middle(std::int64_t i, std::int64_t n, bool align_corners) {
  const auto at = static_cast<double>(i), count = static_cast<double>(n);
  if (align_corners) return n > 1 ? -1 + 2 * at / (count - 1) : -1;
  return -1 + (2 * at + 1) / count;
}

template <class T>
void fill(const Frame& frame, const Array& theta, bool align_corners, Array& out) {
  const std::size_t space = out.rank() - 2;
  const auto row = static_cast<std::int64_t>(space + 1), step = static_cast<std::int64_t>(space);
  const std::int64_t points = out.dims().product(1, space + 1);
  const auto body = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      std::array<double, 4> place{};  // innermost axis first, then a 1 for the translation
      std::int64_t rest = i % points;
      for (std::size_t axis = space; axis > 0; --axis) {
        place[space - axis] = middle(rest % out.dim(axis), out.dim(axis), align_corners);
        rest /= out.dim(axis);
      }
      place[space] = 1;
      const T* matrix = theta.data<T>() + i / points * step * row;
      for (std::int64_t r = 0; r < step; ++r) {
        double sum = 0;
        for (std::int64_t c = 0; c < row; ++c)
          sum += static_cast<double>(static_cast<Computed<T>>(matrix[r * row + c])) *
                 place[static_cast<std::size_t>(c)];
        out.mutable_data<T>()[i * step + r] = static_cast<T>(static_cast<Computed<T>>(sum));
      }
    }
  };
  parallel(frame, out.count() / step, 20, std::ref(body));
}

Result<void> run(Frame& frame) {
  const Array& theta = frame.in(0);
  const Dims size = TRY(dims_from(frame.in(1), "size"));
  const auto space = static_cast<std::int64_t>(size.size()) - 2;
  const bool fits = (space == 2 || space == 3) && theta.rank() == 3 && theta.dim(0) == size[0] &&
                    theta.dim(1) == space && theta.dim(2) == space + 1;
  if (!fits) {
    return wrong(fmt::format("theta is {}, size {}", to_string(frame.datum(0)), to_string(size)),
                 "[N, 2, 3] for (N, C, H, W), or [N, 3, 4] for (N, C, D, H, W)");
  }
  Dims dims{size[0]};
  for (std::size_t i = 2; i < size.size(); ++i) {
    if (size[i] < 0) return wrong(fmt::format("size is {}", to_string(size)), "no negative sizes");
    dims.push_back(size[i]);
  }
  dims.push_back(space);
  if (!for_real(theta.type(), [](auto) {})) return wrong_type(frame, 0);
  Array* out = TRY(frame.out(0, theta.type(), dims));
  const bool align_corners = frame.flag("align_corners");
  for_real(theta.type(), [&]<class T>(T) { fill<T>(frame, theta, align_corners, *out); });
  return {};
}

}  // namespace

std::span<const Descriptor> affine_grid_descriptors() {
  static const Descriptor all[] = {
      {.name = "AffineGrid", .domain = "", .since = {20}, .infer = infer, .run = run, .required = 2}};
  return all;
}

}  // namespace anybit::ops
