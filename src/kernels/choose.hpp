// Dispatch: which kernel of the list does a work.
#pragma once

#include <atomic>
#include <cassert>
#include <vector>

#include "base/reproducible.hpp"
#include "kernels/table.hpp"

namespace anybit::kernels {

// For tests and benchmarks: while it lives, this kernel does all work that it fits, and no kernel uses
// instructions that it does not need. One at a time.
class Trial {
 public:
  explicit Trial(const Descriptor& one);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  const Descriptor& of;
  mutable std::atomic<int> chosen = 0;  // how often
};
extern std::atomic<const Trial*> trial;

template <class K>
struct Candidate {
  const Descriptor* descriptor;
  K kernel;
  Instructions needs;
  bool same_bits;
};

// Those that the CPU may run, in the list's order.
template <class K>
const std::vector<Candidate<K>>& candidates() {
  static const std::vector<Candidate<K>> all = [] {
    std::vector<Candidate<K>> found;
    for (const Descriptor* one : table()) {
      const K* kernel = std::get_if<K>(&one->kernel);
      if (!kernel || !kernel->run || !has(one->needs)) continue;
      found.push_back({one, *kernel, one->needs, one->same_bits || one->needs == Instructions::baseline});
    }
    return found;
  }();
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
  const std::vector<Candidate<K>>& all = candidates<K>();
  if (const Trial* now = trial.load(std::memory_order_relaxed); now != nullptr) [[unlikely]] {
    for (const Candidate<K>& one : all) {
      if (fits(one) && is_on_trial(one, *now)) return one.kernel;
    }
  }
  for (const Candidate<K>& one : all) {
    if (fits(one)) return one.kernel;
  }
  assert(false && "the last kernel of a type fits everything");
  return all.back().kernel;
}

}  // namespace anybit::kernels
