// ONNX files and bytes to models. Every load checks the wire, converts, and verifies; what comes out is
// sound.
#pragma once

#include <string>

#include "anybit/limits.hpp"
#include "anybit/result.hpp"
#include "base/bytes.hpp"
#include "base/safe_open.hpp"
#include "graph/model.hpp"

namespace anybit::onnx {

struct LoadOptions {
  Limits limits;
  Links links =
      Links::refuse;  // for external data: package caches hold links, `--allow-linked-data` lets them in
};

// Maps the file: weights inside it, and in external data beside it, stay on disk until they are used.
Result<graph::Model> load(const std::string& path, const LoadOptions& options = {});
// `folder`: where external data may lie; empty means the model may have none.
Result<graph::Model> parse(const Bytes& bytes, const std::string& folder = {},
                           const LoadOptions& options = {});

}  // namespace anybit::onnx
