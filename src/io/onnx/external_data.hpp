// Tensor data in files beside the model. Names, offsets and lengths come from the model, so none of them is
// trusted.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "anybit/result.hpp"
#include "base/mapped_file.hpp"
#include "base/safe_open.hpp"
#include "graph/tensor.hpp"

namespace anybit::onnx {

class ExternalData {
 public:
  // `folder`: of the data files; empty rejects all. It is opened for the first tensor.
  ExternalData(std::string folder, Links links) : path_(std::move(folder)), links_(links) {}

  // The bytes that the tensor's entries describe; mapped, not read.
  Result<Bytes> read(const graph::Tensor& tensor);
  // The files that these bytes lie in.
  std::vector<std::shared_ptr<const MappedFile>> take_sources() && { return std::move(sources_); }

 private:
  Result<Bytes> file(const std::string& name);
  std::string path_;
  Links links_;
  std::optional<Folder> folder_;
  std::map<std::string, Bytes> files_;
  std::vector<std::shared_ptr<const MappedFile>> sources_;
};

}  // namespace anybit::onnx
