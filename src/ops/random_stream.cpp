#include "ops/random_stream.hpp"

#include <atomic>
#include <bit>
#include <cmath>
#include <numbers>
#include <random>

namespace anybit::ops {

double RandomStream::normal(std::uint64_t i) const {
  // Box and Muller: 1 - u is never 0.
  const double radius = std::sqrt(-2 * std::log(1 - uniform(2 * i)));
  return radius * std::cos(2 * std::numbers::pi * uniform(2 * i + 1));
}

std::uint64_t seed_of(const Attributes& node) {
  if (const auto number = node.integer("seed")) return static_cast<std::uint64_t>(*number);
  if (node.find("seed")) return std::bit_cast<std::uint32_t>(static_cast<float>(node.real("seed", 0)));
  static const std::uint64_t start = (std::uint64_t{std::random_device()()} << 32) ^ std::random_device()();
  static std::atomic<std::uint64_t> calls{0};
  return start + calls.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace anybit::ops
