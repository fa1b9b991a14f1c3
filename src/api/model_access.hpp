// The content of a public Model, for code inside the library.
#pragma once

#include <utility>
#include <vector>

#include "anybit/model.hpp"
#include "graph/model.hpp"

namespace anybit {

struct Model::Content {
  graph::Model model;
  std::string path;             // empty if loaded from bytes, or derived from another model
  std::int64_t file_bytes = 0;  // of the model file or the bytes; 0: derived
  std::vector<Error> remarks;   // corrections at load time
  Limits limits = {};           // from the load options; they also limit later work on the model
};

struct ModelAccess {
  static const Model::Content& content(const Model& model) { return *model.content_; }
  static Model make(Model::Content content) {
    return Model(std::make_shared<const Model::Content>(std::move(content)));
  }
  // A model derived from one with these limits, without a file.
  static Model made(graph::Model model, const Limits& limits) {
    return make({std::move(model), {}, 0, {}, limits});
  }
  static std::int64_t bytes_of(const Model& model);
};

}  // namespace anybit
