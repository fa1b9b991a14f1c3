// The bytes of ONNX files to models. Every load checks the wire, converts, and verifies; what comes out is
// sound.
#pragma once

#include <string>

#include "anybit/model.hpp"
#include "anybit/result.hpp"
#include "base/bytes.hpp"
#include "graph/model.hpp"

namespace anybit::onnx {

// `folder`: where external data may lie; empty means the model may have none.
Result<graph::Model> parse(const Bytes& bytes, const std::string& folder = {},
                           const LoadOptions& options = {});

}  // namespace anybit::onnx
