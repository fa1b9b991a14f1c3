// The kernel that an elementwise operator would run on float32, so that several operators can share one pass
// over their elements (elementwise_chain.cpp). The operator itself tells: it runs on a frame that has a probe
// instead of prepared data, and run_unary or run_binary leaves its kernel there.
#pragma once

#include <optional>
#include <span>

#include "kernels/elementwise/unary.hpp"
#include "ops/elementwise/broadcast.hpp"
#include "ops/frame.hpp"

namespace anybit::ops {

struct ElementKernel {
  BinaryRow row = nullptr;  // of inputs 0 and 1, which broadcast; null: the function of input 0
  kernels::Map map{};
  float a = 0, b = 0;   // parameters of the function
  bool rounds = false;  // to float16, instead of a function
};

struct ElementProbe final : Prepared {
  mutable std::optional<ElementKernel> found;
  static const ElementProbe* in(const Frame& frame) {
    const auto* prepared = frame.prepared<Prepared>();
    return prepared ? dynamic_cast<const ElementProbe*>(prepared) : nullptr;
  }
};

// Nothing if the operator has no such kernel. `constants`: by input; null if it may change between runs.
std::optional<ElementKernel> element_kernel(const graph::Node& node, const Descriptor& descriptor,
                                            std::int64_t version, std::span<const Array* const> constants);

}  // namespace anybit::ops
