#include "kernels/choose.hpp"

#include <iterator>
#include <tuple>

namespace anybit::kernels {

std::atomic<const Trial*> trial = nullptr;

Trial::Trial(const Descriptor& one) : of(one) {
  use_at_most(one.needs);
  trial = this;
}

Trial::~Trial() {
  trial = nullptr;
  use_at_most(kAllInstructions);
}

std::string_view operation_of(const Descriptor& one) {
  constexpr std::string_view names[] = {"float GEMM",
                                        "integer GEMM",
                                        "integer GEMM, 64-bit sums",
                                        "GEMM, packed weights",
                                        "GEMM, dynamic int8",
                                        "binary GEMM",
                                        "integer Conv",
                                        "integer Conv of bytes",
                                        "integer Conv, Winograd",
                                        "integer depthwise Conv",
                                        "QuantizeLinear",
                                        "DequantizeLinear",
                                        "quantized Add",
                                        "quantized Mul",
                                        "table of bytes",
                                        "unary",
                                        "binary",
                                        "Softmax of rows",
                                        "Softmax of columns",
                                        "16-bit floats",
                                        "codec"};
  static_assert(std::size(names) == std::variant_size_v<decltype(Descriptor::kernel)>);
  return names[one.kernel.index()];
}

bool before(const Descriptor& a, const Descriptor& b) {
  // Of kernels that do the same, those that need most of the CPU are first.
  const auto key = [](const Descriptor& one) {
    return std::tuple(one.kernel.index(), -static_cast<int>(one.needs), one.order, one.name);
  };
  return key(a) < key(b);
}

}  // namespace anybit::kernels
