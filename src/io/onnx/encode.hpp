// Serializes a graph::Model as ONNX.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/model.hpp"
#include "io/onnx/encoder.hpp"

namespace anybit::onnx {

// The tensors whose data goes to an external file, and its offsets.
struct ExternalPlan {
  struct Part {
    std::uint64_t offset, length;
  };
  std::string location;
  std::unordered_map<const graph::Tensor*, Part> parts;
};

class Encoding {
 public:
  // Both must outlive this object, unchanged.
  Encoding(const graph::Model& model, const ExternalPlan& plan);
  std::uint64_t size() const { return size_; }
  Result<void> write(const Sink& sink) const;

 private:
  const graph::Model& model_;
  const ExternalPlan& plan_;
  std::uint64_t size_ = 0;
  std::vector<std::uint64_t> lengths_;
};

}  // namespace anybit::onnx
