// Reads TFLite and Circle files. docs/tflite.md describes what becomes of each operator.
#pragma once

#include <string_view>

#include "anybit/model.hpp"
#include "anybit/result.hpp"
#include "base/bytes.hpp"
#include "graph/model.hpp"

namespace anybit::tflite {

// A verified model. `identifier`: "TFL3" or "CIR0", at byte 4.
Result<graph::Model> parse(const Bytes& bytes, std::string_view identifier, const LoadOptions& options);

}  // namespace anybit::tflite
