// What all users of oneDNN share: whether it may be used, its engine, and one thread for each call. Our
// threads give each call a piece of the work.
#pragma once

#include <cstddef>

namespace anybit::kernels {

// False where results have to be reproducible: its kernels differ from CPU to CPU. False without oneDNN.
bool onednn_available();
int onednn_instruction_set();  // dnnl_cpu_isa_t, as capped by ANYBIT_CPU; 0 without oneDNN

}  // namespace anybit::kernels

#ifdef ANYBIT_ONEDNN

#include <oneapi/dnnl/dnnl.hpp>

namespace anybit::kernels {

const dnnl::engine& onednn_engine();

// oneDNN asks OpenMP for the number of threads. This limits it to one.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

// oneDNN crashes if an allocation fails while it creates an object: it runs constructors on null. So more
// memory than it needs is allocated and released first, which fails cleanly.
void expect_memory(std::size_t bytes);
inline constexpr std::size_t kForPrimitive = std::size_t{2} << 20, kForLane = std::size_t{64} << 10;

}  // namespace anybit::kernels

#endif  // ANYBIT_ONEDNN
