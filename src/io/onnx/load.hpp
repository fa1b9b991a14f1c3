// Converts the bytes of ONNX files to verified models. Every load checks the wire format, converts, and
// verifies.
#pragma once

#include <string>

#include "anybit/model.hpp"
#include "anybit/result.hpp"
#include "base/bytes.hpp"
#include "graph/model.hpp"

namespace anybit::onnx {

// `folder`: of external data; empty: the model may have none.
Result<graph::Model> parse(const Bytes& bytes, const std::string& folder = {},
                           const LoadOptions& options = {});

}  // namespace anybit::onnx
