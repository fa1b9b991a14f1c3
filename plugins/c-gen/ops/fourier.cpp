// DFT and STFT: Fourier transforms along an axis, and of overlapping frames of a signal.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "numbers.hpp"

namespace anybit::cgen {
namespace {

// In-place radix-2 FFT for powers of two. `turns` holds cos and sin of 2 pi k / n.
constexpr std::string_view kByHalves =
    R"(ALONE static void fourier_by_halves(double *restrict re, double *restrict im, int32_t n, const double *restrict turns,
                                    double sign) {
  for (int32_t i = 1, j = 0; i < n; ++i) {
    int32_t bit = n / 2;
    for (; j & bit; bit /= 2) j ^= bit;
    j ^= bit;
    if (i < j) {
      const double x = re[i], y = im[i];
      re[i] = re[j];
      im[i] = im[j];
      re[j] = x;
      im[j] = y;
    }
  }
  for (int32_t half = 1; half < n; half *= 2) {
    for (int32_t first = 0; first < n; first += 2 * half) {
      for (int32_t k = 0; k < half; ++k) {
        const int32_t a = first + k, b = a + half, turn = n / half * k;
        const double c = turns[turn], s = sign * turns[turn + 1];
        const double x = re[b] * c - im[b] * s, y = re[b] * s + im[b] * c;
        re[b] = re[a] - x;
        im[b] = im[a] - y;
        re[a] += x;
        im[a] += y;
      }
    }
  }
})";

// Naive DFT for other lengths; `work` has room for 2 n numbers.
constexpr std::string_view kBySums =
    R"(ALONE static void fourier_by_sums(double *restrict re, double *restrict im, int32_t n, const double *restrict turns,
                                  double sign, double *restrict work) {
  for (int32_t k = 0; k < n; ++k) {
    double x = 0, y = 0;
    for (int32_t j = 0, turn = 0; j < n; ++j) {
      const double c = turns[2 * turn], s = sign * turns[2 * turn + 1];
      x += re[j] * c - im[j] * s;
      y += re[j] * s + im[j] * c;
      turn = turn + k < n ? turn + k : turn + k - n;
    }
    work[2 * k] = x;
    work[2 * k + 1] = y;
  }
  for (int32_t k = 0; k < n; ++k) {
    re[k] = work[2 * k];
    im[k] = work[2 * k + 1];
  }
})";

// A transform of n complex numbers in double precision, like the runtime.
class Fourier {
 public:
  Fourier(Node& node, std::int64_t n, bool inverse)
      : node_(node),
        n_(n),
        inverse_(inverse),
        re_(node.scratch("double", n)),
        im_(node.scratch("double", n)) {}

  void clear() { node_.line("for (int32_t k = 0; k < {}; ++k) {}[k] = {}[k] = 0;", n_, re_, im_); }
  std::string re(std::string_view k) const { return fmt::format("{}[{}]", re_, k); }
  std::string im(std::string_view k) const { return fmt::format("{}[{}]", im_, k); }

  void emit() {
    const bool halves = std::has_single_bit(static_cast<std::uint64_t>(n_));
    const std::string name = halves ? "fourier_by_halves" : "fourier_by_sums";
    node_.helper(name, halves ? kByHalves : kBySums);
    const std::string work = halves ? "" : ", " + node_.scratch("double", 2 * n_);
    node_.line("{}({}, {}, {}, {}, {}{});", name, re_, im_, n_, turns(), inverse_ ? 1 : -1, work);
  }

  // Stores bin k to the output at `place`; with the imaginary part if the output is complex.
  void store_bin(const std::string& place, std::int64_t parts) {
    const Value& out = node_.out();
    const std::string scaled = inverse_ ? fmt::format(" / {}", n_) : "";
    const auto number = [&](const std::string& one) {
      return fmt::format("({})({}{})", computed(out), one, scaled);
    };
    node_.line("{}", store(node_, out, node_.y(), place, number(re("k"))));
    if (parts == 2) node_.line("{}", store(node_, out, node_.y(), place + " + 1", number(im("k"))));
  }

 private:
  std::string turns() {
    constexpr std::int64_t kMostPoints = std::int64_t{1} << 22;  // each takes one table entry
    if (n_ > kMostPoints) node_.refuse("a transform of {} points: {} are the most", n_, kMostPoints);
    std::vector<double> numbers;
    for (std::int64_t k = 0; k < n_; ++k) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n_);
      numbers.insert(numbers.end(), {std::cos(angle), std::sin(angle)});
    }
    return node_.array(Element::float64, numbers.data(), static_cast<std::int64_t>(numbers.size()));
  }

  Node& node_;
  std::int64_t n_;
  bool inverse_;
  std::string re_, im_;
};

const Value& signal_of(const Node& node) {
  const Value& x = node.in(0);
  if (!is_real(x)) node.refuse("unsupported input type {}", x.info().name);
  return x;
}

// Loads re[k] and im[k] from the elements at `place`, times `weight`.
void emit_read(Node& node, const Fourier& fourier, const std::string& place, std::int64_t parts,
               const std::string& weight) {
  const Value& x = node.in(0);
  const std::string times = weight.empty() ? "" : fmt::format(" * (double){}", weight);
  node.line("{} = (double){}{};", fourier.re("k"), load(node, x, node.x(0), place), times);
  if (parts == 2)
    node.line("{} = (double){}{};", fourier.im("k"), load(node, x, node.x(0), place + " + 1"), times);
}

void emit_dft(Node& node) {
  const Value &x = signal_of(node), &y = node.out();
  const std::int64_t given =
      node.version() < 20 ? node.integer("axis", 1) : node.integer_in(2, "the axis", -2);
  const std::size_t axis = node.axis(given, x.rank());
  const bool inverse = node.flag("inverse"), half = inverse && node.flag("onesided");
  const std::int64_t size = x.dims[axis], step = x.product(axis + 1, x.rank() - 1);
  const std::int64_t n = node.integer_in(1, "the length of the transform", half ? 2 * (size - 1) : size);
  const std::int64_t parts = x.dims.back(), out_parts = y.dims.back();
  if (y.count() == 0) return;
  Fourier fourier(node, n, inverse);
  node.loop("o", x.product(0, axis));
  node.loop("i", step);
  fourier.clear();
  node.loop("k", std::min(size, half ? n / 2 + 1 : n));
  emit_read(node, fourier, fmt::format("((o * {} + k) * {} + i) * {}", size, step, parts), parts, "");
  if (half) {
    // The other half is the conjugate in reverse order.
    node.line("if (k == 0 || 2 * k == {}) {} = 0;", n, fourier.im("k"));
    node.open("else");
    node.line("{} = {};", fourier.re(fmt::format("{} - k", n)), fourier.re("k"));
    node.line("{} = -{};", fourier.im(fmt::format("{} - k", n)), fourier.im("k"));
    node.close();
  }
  node.end();
  fourier.emit();
  node.loop("k", y.dims[axis]);
  fourier.store_bin(fmt::format("((o * {} + k) * {} + i) * {}", y.dims[axis], step, out_parts), out_parts);
  for (int i = 0; i < 3; ++i) node.end();
}

// [batch, length, parts] to [batch, frames, bins, 2].
void emit_stft(Node& node) {
  const Value &x = signal_of(node), &y = node.out();
  const std::int64_t length = x.dims[1], parts = x.rank() == 2 ? 1 : x.dims[2], frames = y.dims[1],
                     bins = y.dims[2];
  const std::int64_t step = node.integer_in(1, "frame_step", 1);
  const std::int64_t n = node.integer_in(3, "frame_length", node.has(2) ? node.in(2).count() : length);
  const std::int64_t width = node.has(2) ? std::min(node.in(2).count(), n) : n;
  if (y.count() == 0) return;
  Fourier fourier(node, n, false);
  node.loop("b", x.dims[0]);
  node.loop("f", frames);
  fourier.clear();
  node.loop("k", width);
  emit_read(node, fourier, fmt::format("(b * {} + f * {} + k) * {}", length, step, parts), parts,
            node.has(2) ? load(node, node.in(2), node.x(2), "k") : "");
  node.end();
  fourier.emit();
  node.loop("k", bins);
  fourier.store_bin(fmt::format("((b * {} + f) * {} + k) * 2", frames, bins), 2);
  for (int i = 0; i < 3; ++i) node.end();
}

}  // namespace

std::span<const Descriptor> fourier_descriptors() {
  static constexpr Descriptor all[] = {
      {"DFT", "", emit_dft},
      {"STFT", "", emit_stft},
  };
  return all;
}

}  // namespace anybit::cgen
