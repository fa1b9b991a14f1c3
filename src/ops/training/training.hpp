// The domain of the operators that train: gradients, optimizers, fake quantization. They never leave the
// library.
#pragma once

#include <string_view>

namespace anybit::ops {

inline constexpr std::string_view kTraining = "ai.anybit.training";

}  // namespace anybit::ops
