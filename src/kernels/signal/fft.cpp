#include "kernels/signal/fft.hpp"

#include <algorithm>
#include <bit>
#include <numbers>

#include "base/math.hpp"

namespace anybit::kernels {
namespace {

Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

// exp(-2πi·k/n). The angle is reduced to an eighth of the circle, so that symmetric roots are equal.
Complex root(std::int64_t k, std::int64_t n) {
  const std::int64_t eighth = 8 * k / n, rest = 8 * k % n;
  const bool odd = eighth % 2 != 0;
  const double part = odd ? static_cast<double>(n - rest) : static_cast<double>(rest);
  const double angle = std::numbers::pi / 4 * part / static_cast<double>(n);
  double c = math::cos(angle), s = math::sin(angle);
  if (odd) std::swap(c, s);
  for (std::int64_t quarter = eighth / 2 % 4; quarter > 0; --quarter) {
    const double before = c;
    c = -s;
    s = before;
  }
  return {static_cast<double>(c), static_cast<double>(-s)};
}

// Empty if a prime factor is larger than the radices, because a butterfly costs the square of its radix;
// Bluestein's algorithm is used then.
std::vector<std::int64_t> factors_of(std::int64_t n) {
  std::vector<std::int64_t> factors;
  for (const std::int64_t radix : {4, 2, 3, 5, 7, 11, 13}) {
    for (; n % radix == 0; n /= radix) factors.push_back(radix);
  }
  if (n != 1) factors.clear();
  return factors;
}

// One pass of Stockham's algorithm: `count` interleaved transforms of `length` become `radix` times as many
// of length / radix. No final reordering is needed.
void pass2(const Complex* x, Complex* y, std::int64_t length, std::int64_t count, const Complex* roots) {
  const std::int64_t m = length / 2;
  for (std::int64_t q = 0; q < m; ++q) {
    const Complex w = roots[q * count];
    const Complex *a = x + count * q, *b = x + count * (q + m);
    Complex *u = y + count * 2 * q, *v = u + count;
    for (std::int64_t r = 0; r < count; ++r) {
      const Complex sum = a[r] + b[r], difference = a[r] - b[r];
      u[r] = sum;
      v[r] = difference * w;
    }
  }
}

void pass4(const Complex* x, Complex* y, std::int64_t length, std::int64_t count, const Complex* roots) {
  const std::int64_t m = length / 4;
  for (std::int64_t q = 0; q < m; ++q) {
    const Complex w1 = roots[q * count], w2 = roots[2 * q * count], w3 = roots[3 * q * count];
    const Complex* a = x + count * q;
    Complex* u = y + count * 4 * q;
    for (std::int64_t r = 0; r < count; ++r) {
      const Complex x0 = a[r], x1 = a[r + count * m], x2 = a[r + 2 * count * m], x3 = a[r + 3 * count * m];
      const Complex even = x0 + x2, odd = x1 + x3, low = x0 - x2, high = x1 - x3;
      const Complex turned = {high.im, -high.re};  // -i·high
      u[r] = even + odd;
      u[r + count] = (low + turned) * w1;
      u[r + 2 * count] = (even - odd) * w2;
      u[r + 3 * count] = (low - turned) * w3;
    }
  }
}

void pass(const Complex* x, Complex* y, std::int64_t radix, std::int64_t length, std::int64_t count,
          const Complex* roots) {
  const std::int64_t m = length / radix;
  const std::int64_t total = length * count;
  for (std::int64_t q = 0; q < m; ++q) {
    for (std::int64_t j = 0; j < radix; ++j) {
      Complex* u = y + count * (radix * q + j);
      std::fill_n(u, count, Complex{});
      for (std::int64_t i = 0; i < radix; ++i) {
        const Complex w = roots[i * j % radix * (total / radix)];
        const Complex* a = x + count * (q + m * i);
        for (std::int64_t r = 0; r < count; ++r) u[r] = u[r] + a[r] * w;
      }
      const Complex w = roots[q * j * count];
      for (std::int64_t r = 0; r < count; ++r) u[r] = u[r] * w;
    }
  }
}

}  // namespace

Fft::Fft(std::int64_t length) : length_(length), factors_(factors_of(length)) {
  if (length <= 1) return;
  if (!factors_.empty()) {
    roots_.reserve(static_cast<std::size_t>(length));
    for (std::int64_t k = 0; k < length; ++k) roots_.push_back(root(k, length));
    return;
  }
  // kn = (k² + n² - (k - n)²) / 2 turns the transform into a convolution with the chirp.
  const auto padded = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(2 * length - 1)));
  inner_ = std::make_unique<const Fft>(padded);
  chirp_.reserve(static_cast<std::size_t>(length));
  std::int64_t square = 0;  // k² mod 2·length
  for (std::int64_t k = 0; k < length; ++k) {
    chirp_.push_back(root(square, 2 * length));
    square = (square + 2 * k + 1) % (2 * length);
  }
  filter_.resize(static_cast<std::size_t>(padded));
  for (std::int64_t k = 0; k < length; ++k) {
    const Complex one = chirp_[static_cast<std::size_t>(k)];
    filter_[static_cast<std::size_t>(k)] = {one.re, -one.im};
    if (k > 0) filter_[static_cast<std::size_t>(padded - k)] = {one.re, -one.im};
  }
  std::vector<Complex> scratch(static_cast<std::size_t>(inner_->scratch()));
  inner_->forward(filter_.data(), scratch.data());
}

std::int64_t Fft::scratch() const { return inner_ ? inner_->length() + inner_->scratch() : length_; }

void Fft::mixed_radix(Complex* data, Complex* scratch) const {
  Complex *from = data, *to = scratch;
  std::int64_t length = length_, count = 1;
  for (const std::int64_t radix : factors_) {
    if (radix == 4) {
      pass4(from, to, length, count, roots_.data());
    } else if (radix == 2) {
      pass2(from, to, length, count, roots_.data());
    } else {
      pass(from, to, radix, length, count, roots_.data());
    }
    length /= radix;
    count *= radix;
    std::swap(from, to);
  }
  if (from != data) std::copy_n(from, length_, data);
}

void Fft::bluestein(Complex* data, Complex* scratch) const {
  const std::int64_t padded = inner_->length();
  Complex* work = scratch + inner_->scratch();
  for (std::int64_t k = 0; k < length_; ++k) work[k] = data[k] * chirp_[static_cast<std::size_t>(k)];
  std::fill(work + length_, work + padded, Complex{});
  inner_->forward(work, scratch);
  for (std::int64_t k = 0; k < padded; ++k) work[k] = work[k] * filter_[static_cast<std::size_t>(k)];
  inner_->inverse(work, scratch);
  for (std::int64_t k = 0; k < length_; ++k) data[k] = work[k] * chirp_[static_cast<std::size_t>(k)];
}

void Fft::forward(Complex* data, Complex* scratch) const {
  if (length_ <= 1) return;
  inner_ ? bluestein(data, scratch) : mixed_radix(data, scratch);
}

void Fft::inverse(Complex* data, Complex* scratch) const {
  // With real and imaginary parts swapped, the forward transform is the inverse.
  const double scale = 1.0 / static_cast<double>(length_);
  for (std::int64_t k = 0; k < length_; ++k) data[k] = {data[k].im, data[k].re};
  forward(data, scratch);
  for (std::int64_t k = 0; k < length_; ++k) data[k] = {data[k].im * scale, data[k].re * scale};
}

}  // namespace anybit::kernels
