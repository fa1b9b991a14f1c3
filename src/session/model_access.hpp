// What is behind a public Model, for code inside the library.
#pragma once

#include <utility>
#include <vector>

#include "anybit/model.hpp"
#include "graph/model.hpp"

namespace anybit {

struct Model::Content {
  graph::Model model;
  std::string path;             // empty if it came from bytes, or was made from another model
  std::int64_t file_bytes = 0;  // of the model file or the bytes; 0: none were read
  std::vector<Error> remarks;   // what was corrected when it was loaded
  Limits limits = {};           // that it was loaded with: for work on it, too
};

struct ModelAccess {
  static const Model::Content& content(const Model& model) { return *model.content_; }
  static Model make(Model::Content content) {
    return Model(std::make_shared<const Model::Content>(std::move(content)));
  }
  // A model that no file has, made from one with these limits.
  static Model made(graph::Model model, const Limits& limits) {
    return make({std::move(model), {}, 0, {}, limits});
  }
  static std::int64_t bytes_of(const Model& model);
};

}  // namespace anybit
