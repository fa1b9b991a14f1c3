#include "kernels/conv/onednn_engine.hpp"

#ifndef ANYBIT_ONEDNN

namespace anybit::kernels {

bool onednn_available() { return false; }
int onednn_instruction_set() { return 0; }

}  // namespace anybit::kernels

#else

#include <cstdlib>
#include <new>

#include "base/cpu.hpp"
#include "base/reproducible.hpp"

// From the OpenMP library that oneDNN is linked with; not every compiler comes with an OpenMP header.
extern "C" void omp_set_num_threads(int count);
extern "C" int omp_get_max_threads(void);

namespace anybit::kernels {
namespace {

// oneDNN accepts a cap only before its first use. If other code in the process used it first, it is not used
// here.
bool obeys_cap() {
  static const bool done = [] {
    switch (cpu_cap()) {
      case CpuCap::sse4:
        return dnnl_set_max_cpu_isa(dnnl_cpu_isa_sse41) == dnnl_success;
      case CpuCap::avx2:
        return dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2) == dnnl_success;
      case CpuCap::avx512:
      case CpuCap::none:
        break;
    }
    return true;
  }();
  return done;
}

}  // namespace

bool onednn_available() { return obeys_cap() && !reproducible(); }
int onednn_instruction_set() { return obeys_cap() ? dnnl_get_effective_cpu_isa() : 0; }

const dnnl::engine& onednn_engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

OneThread::OneThread() : before_(omp_get_max_threads()) {
  if (before_ != 1) omp_set_num_threads(1);
}
OneThread::~OneThread() {
  if (before_ != 1) omp_set_num_threads(before_);
}

void expect_memory(std::size_t bytes) {
  void* volatile piece = std::malloc(bytes);
  if (!piece) throw std::bad_alloc();
  std::free(piece);
}

}  // namespace anybit::kernels

#endif
