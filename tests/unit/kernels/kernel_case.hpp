// A piece of work for a kernel of the list, with the result of a naive loop.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/choose.hpp"

namespace anybit::kernels {

struct KernelCase {
  std::string sizes;
  double operations = 0;                   // additions and multiplications, or elements
  std::function<void(ThreadPool&)> run;    // by the dispatched kernel
  std::function<void()> reference;         // by a naive loop
  std::function<double(std::size_t)> off;  // error of element i
  std::size_t count = 0;                   // elements
  double tolerance = 0;                    // maximal error
};
using KernelCases = std::vector<KernelCase>;

namespace cases {

inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

template <class T>
std::vector<T> numbers(std::int64_t count, int low, int high, std::mt19937& random) {
  std::vector<T> all(at(count));
  for (T& one : all)
    one = static_cast<T>(low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1)));
  return all;
}

// Compares y with `expected`, both held by `state`.
template <class State>
KernelCase made(std::shared_ptr<State> state, std::string sizes, double operations) {
  return {.sizes = std::move(sizes),
          .operations = operations,
          .run = [state](ThreadPool& pool) { state->run(pool); },
          .reference = [state] { state->reference(); },
          .off =
              [state](std::size_t i) {
                return std::fabs(static_cast<double>(state->y[i]) - static_cast<double>(state->expected[i]));
              },
          .count = state->y.size()};
}

}  // namespace cases
}  // namespace anybit::kernels
