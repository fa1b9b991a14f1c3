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
                                        "integer Conv, VNNI",
                                        "integer Conv, Winograd",
                                        "float Conv",
                                        "float Conv, Winograd",
                                        "float depthwise Conv",
                                        "integer depthwise Conv",
                                        "QuantizeLinear",
                                        "DequantizeLinear",
                                        "quantized Add",
                                        "quantized Mul",
                                        "byte LUT",
                                        "unary",
                                        "binary",
                                        "row Softmax",
                                        "column Softmax",
                                        "float16 conversion",
                                        "codec"};
  static_assert(std::size(names) == std::variant_size_v<decltype(Descriptor::kernel)>);
  return names[one.kernel.index()];
}

bool before(const Descriptor& a, const Descriptor& b) {
  // Of kernels for the same work, those that need the most recent instructions come first.
  const auto key = [](const Descriptor& one) {
    return std::tuple(one.kernel.index(), -static_cast<int>(one.needs), one.order, one.name);
  };
  return key(a) < key(b);
}

}  // namespace anybit::kernels
