// Discrete Fourier transform of any length in O(n log n): mixed radix where the factors of the length are
// small, otherwise Bluestein's algorithm.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace anybit::kernels {

struct Complex {
  double re = 0, im = 0;
};

// For one length. Thread-safe.
class Fft {
 public:
  explicit Fft(std::int64_t length);

  std::int64_t length() const { return length_; }
  // Scratch for one transform, in complex numbers.
  std::int64_t scratch() const;
  // X[k] = Σ x[n]·exp(-2πi·kn/length), in place.
  void forward(Complex* data, Complex* scratch) const;
  // The same with exp(+2πi·kn/length), divided by the length.
  void inverse(Complex* data, Complex* scratch) const;

 private:
  void mixed_radix(Complex* data, Complex* scratch) const;
  void bluestein(Complex* data, Complex* scratch) const;

  std::int64_t length_;
  std::vector<std::int64_t> factors_;  // empty: Bluestein
  std::vector<Complex> roots_;         // exp(-2πi·k/length)
  std::vector<Complex> chirp_;         // exp(-πi·k²/length)
  std::vector<Complex> filter_;        // the transform of the conjugate chirp
  std::unique_ptr<const Fft> inner_;   // of a power of two, for the convolution
};

}  // namespace anybit::kernels
