// Pseudorandom numbers by counter: the same for any number of threads, and after a resumed run.
#pragma once

#include <cstdint>

namespace anybit::train {

// splitmix64 (Steele et al., OOPSLA 2014) of a stream's number `index`.
inline std::uint64_t random_at(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  std::uint64_t z =
      seed * 0xD1342543DE82EF95U + stream * 0x9E3779B97F4A7C15U + (index + 1) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

// A number below `count`.
inline std::uint64_t random_below(std::uint64_t bits, std::uint64_t count) { return (bits >> 11) % count; }

}  // namespace anybit::train
