// Whether this thread's float results must be bit-identical on every CPU. Kernels then sum in a fixed order
// without fused multiply-adds, and functions of libm whose bits depend on the CPU are avoided
// (base/math.hpp). ThreadPool propagates the flag to its helper threads.
#pragma once

namespace anybit {

// Read once per kernel call: it must be cheap in a shared library, too.
extern constinit thread_local bool is_reproducible __attribute__((tls_model("initial-exec")));

inline bool reproducible() noexcept { return is_reproducible; }

// Sets the flag for its lifetime.
class ReproducibleScope {
 public:
  explicit ReproducibleScope(bool wanted) noexcept : before_(is_reproducible) { is_reproducible = wanted; }
  ~ReproducibleScope() { is_reproducible = before_; }
  ReproducibleScope(const ReproducibleScope&) = delete;
  ReproducibleScope& operator=(const ReproducibleScope&) = delete;

 private:
  bool before_;
};

}  // namespace anybit
