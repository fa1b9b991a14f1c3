// Properties of every model run: an executor with a recorded plan gives the same bits as a new one, and
// fusions do not change results beyond rounding, NaN and infinities included.
#pragma once

#include "graph/verify.hpp"
#include "random_graph.hpp"

namespace anybit::runtime::testing {

// Reads every element of every watched value.
struct Reader final : Watcher {
  std::uint64_t sum = 0;
  Result<void> see(std::size_t, const Datum& value) override {
    for (std::size_t i = 0; value.is_array() && i < value.array.byte_count(); ++i)
      sum += std::to_integer<std::uint64_t>(value.array.bytes()[i]);
    return {};
  }
};

using Outputs = Result<std::vector<Datum>>;

inline bool same_bits(const Array& a, const Array& b) {
  return a.type() == b.type() && a.dims() == b.dims() &&
         std::memcmp(a.bytes(), b.bytes(), a.byte_count()) == 0;
}

// The first difference between results with and without fusions; empty if there is none.
inline std::string difference(const Array& fused, const Array& plain, bool quantized) {
  if (fused.type() != plain.type() || !(fused.dims() == plain.dims()))
    return to_string(fused) + " instead of " + to_string(plain);
  const auto a = fused.elements<float>(), b = plain.elements<float>();
  float largest = 1;
  for (const float one : b) {
    if (std::isfinite(one)) largest = std::max(largest, std::abs(one));
  }
  const float most = largest * (quantized ? 0.25f : 1e-3f);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    if (same || (std::isfinite(a[i]) && std::isfinite(b[i]) && std::abs(a[i] - b[i]) <= most)) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(a[i]) + " instead of " +
           std::to_string(b[i]);
  }
  return {};
}

// The first property that a case violates; empty if all hold.
inline std::string disagreement(const Case& one) {
  const auto verified = graph::verify(*one.model);
  if (!verified.ok()) return "the model is wrong: " + verified.error().text();
  const auto executor = [&](bool fuse) {
    return Executor::make(one.model, {.threads = 1, .fuse = fuse, .watch = one.watch});
  };
  const auto kept = executor(true);
  if (!kept.ok()) return executor(false).ok() ? "only fused it fails: " + kept.error().text() : "";
  for (std::size_t run = 0; run < one.runs.size(); ++run) {
    const std::string where = " in run " + std::to_string(run);
    Reader reader, reader_of_fresh;
    const Outputs outputs = (*kept)->run(one.runs[run], nullptr, run % 2 == 0 ? &reader : nullptr);
    const auto plain = executor(false), fresh = executor(true);
    const Outputs expected = (*plain)->run(one.runs[run]);
    const Outputs again = (*fresh)->run(one.runs[run], nullptr, run % 2 == 0 ? &reader_of_fresh : nullptr);
    if (outputs.ok() != again.ok()) return "whether it runs depends on the plan" + where;
    if (!expected.ok()) continue;
    if (!outputs.ok()) return "only fused it fails: " + outputs.error().text() + where;
    if (reader.sum != reader_of_fresh.sum) return "a plan changes what is watched" + where;
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      const std::string what = " of output " + std::to_string(i) + where;
      if (!same_bits((*outputs)[i].array, (*again)[i].array)) return "a plan changes elements" + what;
      const std::string found = difference((*outputs)[i].array, (*expected)[i].array, one.quantized);
      if (!found.empty()) return found + what;
    }
  }
  return {};
}

}  // namespace anybit::runtime::testing
