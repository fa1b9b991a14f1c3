// Dispatch: picks a kernel from the list for a piece of work.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <type_traits>

#include "base/reproducible.hpp"
#include "kernels/table.hpp"

namespace anybit::kernels {

// For tests and benchmarks: while an object lives, its kernel does all work that it fits, and no other kernel
// may use instructions that it does not need. One object at a time.
class Trial {
 public:
  explicit Trial(const Descriptor& one);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  const Descriptor& of;
  mutable std::atomic<int> chosen = 0;  // number of times
};
extern std::atomic<const Trial*> trial;

template <class K>
struct Candidate {
  const Descriptor* descriptor = nullptr;
  K kernel = {};
  Instructions needs = Instructions::baseline;
  bool same_bits = false;
};

// The kernels that this CPU can run, in the list's order. Trivially destructible: other threads may still run
// when the process ends.
template <class K>
struct Candidates {
  static constexpr std::size_t kMost = 16;
  Candidate<K> all[kMost] = {};
  std::size_t count = 0;

  Candidates() {
    for (const Descriptor* one : table()) {
      const K* kernel = std::get_if<K>(&one->kernel);
      if (!kernel || !kernel->run || !has(one->needs)) continue;
      assert(count < kMost);
      all[count++] = {one, *kernel, one->needs, one->same_bits || one->needs == Instructions::baseline};
    }
  }
  const Candidate<K>* begin() const { return all; }
  const Candidate<K>* end() const { return all + count; }
};

template <class K>
const Candidates<K>& candidates() {
  static_assert(std::is_trivially_destructible_v<Candidates<K>>);
  static const Candidates<K> all;
  return all;
}

template <class K>
bool is_on_trial(const Candidate<K>& one, const Trial& now) {
  if (one.descriptor != &now.of) return false;
  ++now.chosen;
  return true;
}

template <class K>
const K& choose(const typename K::Work& work) {
  const bool everywhere = reproducible();
  const Instructions most = most_instructions.load(std::memory_order_relaxed);
  const auto fits = [&](const Candidate<K>& one) {
    return one.needs <= most && (!everywhere || one.same_bits) && (!one.kernel.fits || one.kernel.fits(work));
  };
  const Candidates<K>& all = candidates<K>();
  if (const Trial* now = trial.load(std::memory_order_relaxed); now != nullptr) [[unlikely]] {
    for (const Candidate<K>& one : all) {
      if (fits(one) && is_on_trial(one, *now)) return one.kernel;
    }
  }
  for (const Candidate<K>& one : all) {
    if (fits(one)) return one.kernel;
  }
  assert(false && "the last kernel of a type fits everything");
  return (all.end() - 1)->kernel;
}

}  // namespace anybit::kernels
