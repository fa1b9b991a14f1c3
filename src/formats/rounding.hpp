// Rounding to an integer, by mode. The argument is exact (a float scaled by a power of two, or a float32
// quotient) and in double, so that adding a half does not round.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "anybit/formats.hpp"

namespace anybit::formats {

using anybit::name_of;
using anybit::Rounding;
using anybit::rounding_named;

// Rounds one value. `noise` is a uniform 32-bit number, used by `stochastic` only.
inline double round_to_integer(double t, Rounding rounding, std::uint32_t noise = 0) {
  switch (rounding) {
    case Rounding::half_even:
      return std::nearbyint(t);
    case Rounding::half_away:
      return std::copysign(std::floor(std::fabs(t) + 0.5), t);
    case Rounding::half_up:
      return std::copysign(std::floor(t + 0.5), t);
    case Rounding::toward_zero:
      return std::trunc(t);
    case Rounding::floor:
      return std::floor(t);
    case Rounding::stochastic: {
      const double below = std::floor(t), range = 4294967296.0;
      // t - below is exact, except just below zero: there 2^32 is subtracted from the noise instead.
      const bool up = below == -1 ? t * range > noise - range : (t - below) * range > noise;
      return std::copysign(below + (up ? 1.0 : 0.0), t);
    }
  }
  return t;
}

// Counter-based noise: the same number for the same seed and element, independent of the caller (splitmix64's
// finalizer).
inline std::uint32_t noise_at(std::uint64_t seed, std::uint64_t element) {
  std::uint64_t z = seed + (element + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return static_cast<std::uint32_t>((z ^ (z >> 31)) >> 32);
}

// Rounds an array of values; noise[i] belongs to the i-th value, null unless stochastic.
struct Draw {
  Rounding rounding = Rounding::half_even;
  const std::uint32_t* noise = nullptr;
  double operator()(double t, std::size_t i) const {
    return round_to_integer(t, rounding, noise ? noise[i] : 0);
  }
};

}  // namespace anybit::formats
