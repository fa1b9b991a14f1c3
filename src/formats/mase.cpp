#include "formats/mase.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/error.hpp"
#include "formats/block.hpp"
#include "formats/float_bits.hpp"

namespace anybit::formats::mase {
namespace {

// floor(log2 n) of n >= 1.
int floor_log2_of(int n) { return std::bit_width(static_cast<unsigned>(n)) - 1; }

// The binades of logarithms: -2 belongs to one below a half, 8 to those of the largest exponents in use.
constexpr int kLowestBinade = -2, kBinades = 11;
constexpr std::size_t index_of(int binade) { return static_cast<std::size_t>(binade - kLowestBinade); }

// floor(ln 2 · 2^binade): a logarithm of that binade has a unit in the last place of 2^(binade - 23), and
// half of it corresponds to this many units of 2^-24 of its power.
constexpr std::array<int, kBinades> kHalfUnits = {0, 0, 0, 1, 2, 5, 11, 22, 44, 88, 177};
int half_a_unit(int binade) { return kHalfUnits[index_of(binade)]; }

// √2 · 2^23, and half a unit of a logarithm, in the same units of the power, per binade.
constexpr double kRootOfTwo = 1.41421356237309504880 * (1 << 23);
constexpr double kHalfUnitAtRoot = 1.41421356237309504880 * 0.69314718055994530942 / 2;

// The first integers above both ends of the tie: of even and of odd exponents.
struct Thresholds {
  int even = 0, odd = 0;
};
constexpr std::array<Thresholds, kBinades> kThresholds = [] {
  std::array<Thresholds, kBinades> all{};
  double half_unit = kHalfUnitAtRoot / 4;  // of the lowest binade
  for (Thresholds& one : all) {
    one = {static_cast<int>(kRootOfTwo + half_unit) + 1, static_cast<int>(kRootOfTwo - half_unit) + 1};
    half_unit *= 2;
  }
  return all;
}();

double sign(float x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

}  // namespace

// The float32 numbers next to an integer are closer on the side of zero if it is a power of two.
NearPower near_power(int exponent) {
  if (exponent == 0) return {};  // near zero a logarithm loses nothing
  const int size = std::abs(exponent), outside = floor_log2_of(size);
  const int inside = std::has_single_bit(static_cast<unsigned>(size)) ? outside - 1 : outside;
  const int below = exponent > 0 ? inside : outside, above = exponent > 0 ? outside : inside;
  return {half_a_unit(below), half_a_unit(above - 1)};
}

// A logarithm halfway between two integers is a tie: it goes down from an even one, up from an odd one.
int nearest_power_threshold(int exponent) {
  const int size = exponent >= 0 ? exponent : -exponent - 1;  // the integer part of |exponent + 1/2|
  const int binade = size == 0 ? -1 : floor_log2_of(size);
  const Thresholds& both = kThresholds[index_of(binade)];
  return exponent % 2 == 0 ? both.even : both.odd;
}

int floor_log2(float x) {
  const int exponent = exponent_of(x), missing = (1 << 24) - static_cast<int>(significand_of(x));
  return missing <= near_power(exponent + 1).below ? exponent + 1 : exponent;
}

int ceil_log2(float x) {
  const int exponent = exponent_of(x), beyond = static_cast<int>(significand_of(x)) - (1 << 23);
  return beyond <= near_power(exponent).above ? exponent : exponent + 1;
}

int round_log2(float x) {
  const int exponent = exponent_of(x);
  return static_cast<int>(significand_of(x)) >= nearest_power_threshold(exponent) ? exponent + 1 : exponent;
}

Parameter profile_parameter() {
  return {
      "profile", std::string("plain"), "plain: as defined in docs/formats.md; mase: rounded as MASE does", 0,
      0,         {"plain", "mase"}};
}

bool is_mase(const Values& values) { return word(values, "profile") == "mase"; }

Error no_zero() { return invalid_argument("profile mase has no zero", "with_zero false, or profile plain"); }

bool passes(float x) { return std::fabs(x) <= kPassed && x != 0; }

double minifloat(float x, const Float& format) {
  const float magnitude = std::fabs(x);
  const int exponent =
      std::clamp(floor_log2(magnitude + kNudge), format.lowest_exponent, format.highest_exponent);
  const bool normal = exponent != format.lowest_exponent;
  const double unit = wide_power_of_two(exponent - format.mantissa_bits + (normal ? 0 : 1));
  const double implicit = normal ? 1 << format.mantissa_bits : 0;
  const double most = (1 << format.mantissa_bits) - 1;
  const double mantissa = std::clamp(std::nearbyint(magnitude / unit - implicit), 0.0, most);
  return sign(x) * (implicit + mantissa) * unit;
}

double minifloat_denorm(float x, const Float& format) {
  const float magnitude = std::fabs(x);
  const int exponent =
      std::clamp(ceil_log2(magnitude + kNudge), format.lowest_exponent, format.highest_exponent);
  const double unit = wide_power_of_two(exponent - format.mantissa_bits);
  const double most = (1 << format.mantissa_bits) - 1;
  return sign(x) * std::min(std::nearbyint(magnitude / unit), most) * unit;
}

float log_offset(int bias) { return static_cast<float>(0.1 * wide_power_of_two(-bias)); }

double logarithmic(float x, float offset, int lowest_exponent, int highest_exponent) {
  const float magnitude = std::fabs(x) + offset;
  const int exponent = magnitude == 0 ? lowest_exponent : round_log2(magnitude);
  return sign(x + offset) * wide_power_of_two(std::clamp(exponent, lowest_exponent, highest_exponent));
}

}  // namespace anybit::formats::mase
