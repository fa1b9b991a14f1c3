// QLinearSoftmax: ONNX Runtime's softmax of an 8-bit tensor. Inputs: the tensor, its scale and zero point;
// scale and zero point of the result. `opset` selects the version of Softmax: before 13, all axes from `axis`
// on form one row.
#include <algorithm>
#include <limits>

#include "base/math.hpp"
#include "kernels/elementwise/quantize.hpp"
#include "ops/quantized/quantization.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// powers[k] = e^(-k · scale): weight of a value that is k steps below the maximum.
using Powers = std::array<float, 256>;

template <class Q>
Q code_of(std::size_t place) {  // position in ascending order → integer
  return static_cast<Q>(static_cast<int>(place) + std::numeric_limits<Q>::lowest());
}
template <class Q>
std::size_t place_of(Q code) {
  return static_cast<std::size_t>(code - std::numeric_limits<Q>::lowest());
}

// Histogram of the integers, by position. Four counters per bin, so that repeated values do not wait for each
// other.
template <class Q>
std::array<std::int64_t, 256> counts_of(const Q* in, std::int64_t n, std::int64_t stride) {
  std::array<std::array<std::uint32_t, 256>, 4> parts{};
  std::array<std::int64_t, 256> counts{};
  constexpr std::int64_t kRun = std::int64_t{1} << 30;
  for (std::int64_t first = 0; first < n; first += kRun) {
    const std::int64_t last = std::min(n, first + kRun);
    for (std::int64_t i = first; i < last; ++i)
      ++parts[static_cast<std::size_t>(i % 4)][place_of(in[i * stride])];
    for (auto& part : parts) {
      for (std::size_t place = 0; place < counts.size(); ++place) counts[place] += part[place];
      part.fill(0);
    }
  }
  return counts;
}

constexpr std::int64_t kShort = 256;

// Short rows: element by element. Four sums, so that additions do not wait for each other.
template <class Q>
void run_short(const Q* in, Q* out, std::int64_t n, std::int64_t stride, const Powers& powers,
               Quantization to) {
  int top = std::numeric_limits<Q>::lowest();
  for (std::int64_t i = 0; i < n; ++i) top = std::max<int>(top, in[i * stride]);
  std::array<float, kShort> values;
  const auto power = [&](std::int64_t i) {
    const float one = powers[static_cast<std::size_t>(top - in[i * stride])];
    values[static_cast<std::size_t>(i)] = one;
    return static_cast<double>(one);
  };
  double a = 0, b = 0, c = 0, d = 0;
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    a += power(i);
    b += power(i + 1);
    c += power(i + 2);
    d += power(i + 3);
  }
  for (; i < n; ++i) a += power(i);
  const auto factor = static_cast<float>(1.0 / (((a + b) + (c + d)) * static_cast<double>(to.scale)));
  for (i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] *= factor;
  std::array<Q, kShort> results;
  const float one = 1;  // the factor has divided by the scale
  kernels::quantize(values.data(), {&one, &to.zero_point, 0}, results.data(), static_cast<std::size_t>(n));
  for (i = 0; i < n; ++i) out[i * stride] = results[static_cast<std::size_t>(i)];
}

// At most 256 different values: each one that occurs gets its result once, in a table.
template <class Q>
void run_line(const Q* in, Q* out, std::int64_t n, std::int64_t stride, const Powers& powers, Quantization to,
              QuantizedRange range) {
  if (n < kShort) return run_short(in, out, n, stride, powers, to);
  const auto counts = counts_of(in, n, stride);
  std::size_t top = counts.size() - 1;
  while (counts[top] == 0) --top;
  double sum = 0;
  for (std::size_t place = 0; place <= top; ++place)
    sum += static_cast<double>(counts[place]) * static_cast<double>(powers[top - place]);
  const auto factor = static_cast<float>(1.0 / (sum * static_cast<double>(to.scale)));
  ByteTable table{};
  for (std::size_t place = 0; place <= top; ++place) {
    if (counts[place] == 0) continue;
    const float y = powers[top - place] * factor;
    table[static_cast<std::uint8_t>(code_of<Q>(place))] =
        static_cast<std::uint8_t>(quantized(static_cast<double>(y), to.zero_point, range));
  }
  const auto* from = reinterpret_cast<const std::uint8_t*>(in);
  auto* target = reinterpret_cast<std::uint8_t*>(out);
  if (stride == 1) return look_up(table, from, target, n);
  for (std::int64_t i = 0; i < n; ++i) target[i * stride] = table[from[i * stride]];
}

Result<void> run(Frame& frame) {
  const Array& x = frame.in(0);
  if (!is_byte(x.type())) return wrong_type(frame, 0);
  const Quantization from = TRY(quantization_at(frame, 1, 2, x.type()));
  const Quantization to = TRY(quantization_at(frame, 3, 4, x.type()));
  const bool flat = frame.integer("opset", 13) < 13;
  std::size_t axis = 0;
  if (x.rank() > 0) axis = TRY(axis_of(frame.integer("axis", flat ? 1 : -1), x.rank()));
  const Dims& dims = x.dims();
  const std::int64_t n = x.rank() == 0 ? 1 : flat ? dims.product(axis, x.rank()) : dims[axis];
  const std::int64_t stride = flat || x.rank() == 0 ? 1 : dims.product(axis + 1, x.rank());
  Array* out = TRY(frame.out(0, x.type(), dims));
  if (x.count() == 0) return {};
  Powers powers;
  for (std::size_t k = 0; k < powers.size(); ++k) powers[k] = math::exp(-static_cast<float>(k) * from.scale);
  const auto lines = [&]<class Q>(Q) {
    parallel(frame, x.count() / n, 5 * static_cast<double>(n), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t at = i / stride * n * stride + i % stride;
        run_line(x.data<Q>() + at, out->mutable_data<Q>() + at, n, stride, powers, to, range_of(x.type()));
      }
    });
  };
  if (x.type() == ElementType::uint8) {
    lines(std::uint8_t());
  } else {
    lines(std::int8_t());
  }
  return {};
}

}  // namespace

std::span<const Descriptor> qlinear_softmax_descriptors() {
  static const Descriptor all[] = {
      {.name = "QLinearSoftmax",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer_same,
       .quantized = {{.input = 0, .scale = 1, .zero_point = 2}, {.output = 0, .scale = 3, .zero_point = 4}},
       .run = run,
       .required = 2}};
  return all;
}

}  // namespace anybit::ops
