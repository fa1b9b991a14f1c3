// A model as a code generator sees it (include/anybit/codegen.hpp).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "anybit/codegen.hpp"
#include "anybit/limits.hpp"
#include "graph/model.hpp"

namespace anybit::codegen {

// A model, and where it comes from.
struct Source {
  const graph::Model& model;
  std::string path, hash;
  Limits limits = {};  // of the work before the generator runs
};

using InputShapes = std::map<std::string, std::vector<std::int64_t>>;

class View {
 public:
  virtual ~View() = default;
  const anybit_view& view() const { return view_; }

 protected:
  View() = default;
  anybit_view view_{};
};

// The source must outlive the view. The shapes are those of inputs that the model leaves open; a view as
// written takes them too, and needs none.
Result<std::unique_ptr<View>> written_view(const Source& source, const InputShapes& shapes);
Result<std::unique_ptr<View>> fused_view(const Source& source, const InputShapes& shapes);

}  // namespace anybit::codegen
