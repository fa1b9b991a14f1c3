#include "ops/create/random_stream.hpp"

#include <atomic>
#include <bit>
#include <cmath>
#include <numbers>
#include <random>

#include "base/math.hpp"

namespace anybit::ops {
namespace {

thread_local RepeatableDraws* repeatable = nullptr;

// FNV-1a: identical on every machine.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char one : text) hash = (hash ^ static_cast<unsigned char>(one)) * 0x100000001B3u;
  return hash;
}

}  // namespace

double RandomStream::normal(std::uint64_t i) const {
  // Box–Muller; 1 - u is never 0.
  const double radius = std::sqrt(-2 * math::log(1 - uniform(2 * i)));
  return radius * math::cos(2 * std::numbers::pi * uniform(2 * i + 1));
}

std::uint64_t seed_of(const Attributes& node) {
  if (const auto number = node.integer("seed")) return static_cast<std::uint64_t>(*number);
  if (node.find("seed")) return std::bit_cast<std::uint32_t>(static_cast<float>(node.real("seed", 0)));
  if (repeatable) return repeatable->next(node.node.op_type.str());
  static const std::uint64_t start = (std::uint64_t{std::random_device()()} << 32) ^ std::random_device()();
  static std::atomic<std::uint64_t> calls{0};
  return start + calls.fetch_add(1, std::memory_order_relaxed);
}

RepeatableDraws::RepeatableDraws(std::uint64_t seed) : seed_(seed), outer_(repeatable) { repeatable = this; }
RepeatableDraws::~RepeatableDraws() { repeatable = outer_; }

std::uint64_t RepeatableDraws::next(const std::string& op) {
  return RandomStream(seed_ ^ hash_of(op)).bits(draws_[op]++);
}

}  // namespace anybit::ops
