// What is behind a public Model, for code inside the library.
#pragma once

#include <utility>

#include "anybit/model.hpp"
#include "graph/model.hpp"

namespace anybit {

struct Model::Content {
  graph::Model model;
  std::string path;             // empty if it came from bytes
  std::int64_t file_bytes = 0;  // of the model file or the bytes
};

struct ModelAccess {
  static const Model::Content& content(const Model& model) { return *model.content_; }
  static Model make(Model::Content content) {
    return Model(std::make_shared<const Model::Content>(std::move(content)));
  }
};

}  // namespace anybit
