// Counter-based random numbers: the i-th depends on the seed and i alone, so threads may generate any part in
// any order. SplitMix64's finalizer, applied twice.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "ops/attributes.hpp"

namespace anybit::ops {

class RandomStream {
 public:
  explicit RandomStream(std::uint64_t seed) : key_(mixed(seed + kStep)) {}

  std::uint64_t bits(std::uint64_t i) const { return mixed(mixed(key_ + i * kStep) ^ key_); }
  // In [0, 1), 53 bits.
  double uniform(std::uint64_t i) const { return static_cast<double>(bits(i) >> 11) * 0x1p-53; }
  // Standard normal distribution.
  double normal(std::uint64_t i) const;

 private:
  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15u;
  static std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }
  std::uint64_t key_;
};

// The attribute `seed`, a float or an integer; a new seed for each call if the node has none.
std::uint64_t seed_of(const Attributes& node);

// While it lives, nodes without a seed that run on this thread derive one from this seed, their operator type
// and the number of earlier runs of that type, so that a float model and its quantized version draw the same
// numbers. Names cannot be used: nodes may have none, and quantization renames values.
class RepeatableDraws {
 public:
  explicit RepeatableDraws(std::uint64_t seed);
  ~RepeatableDraws();
  RepeatableDraws(const RepeatableDraws&) = delete;
  RepeatableDraws& operator=(const RepeatableDraws&) = delete;

 private:
  friend std::uint64_t seed_of(const Attributes& node);
  std::uint64_t next(const std::string& op);

  const std::uint64_t seed_;
  std::unordered_map<std::string, std::uint64_t> draws_;  // by operator
  RepeatableDraws* const outer_;
};

}  // namespace anybit::ops
