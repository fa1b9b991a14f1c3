// An operator of the library as ONNX Runtime calls it.
#pragma once

#include "definitions.hpp"

namespace anybit::ort {

struct RegisteredOp : CustomOp {
  explicit RegisteredOp(const Definition& of);
  const Definition& definition;
};

}  // namespace anybit::ort
