// Whether what this thread computes in float has to be the same bits on every CPU. Kernels then sum in a
// fixed order and without fused multiply-adds, and nothing of libm is called whose bits depend on the CPU
// (base/math.hpp). ThreadPool passes it on to the threads that help.
#pragma once

namespace anybit {

// Read by kernels once a call: it must be cheap in a shared library, too.
extern constinit thread_local bool is_reproducible __attribute__((tls_model("initial-exec")));

inline bool reproducible() noexcept { return is_reproducible; }

// While it lives.
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
