// A model as a code generator sees it (include/anybit/codegen.hpp).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "anybit/codegen.hpp"
#include "anybit/limits.hpp"
#include "graph/model.hpp"

namespace anybit::codegen {

// A model and its origin.
struct Source {
  const graph::Model& model;
  std::string path, hash;
  Limits limits = {};  // on the work before the generator runs
  // Writes the model to a file, for generators that read one. Empty if it is the file at `path` already.
  std::function<Result<void>(const std::string& path)> save = {};
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

// The source must outlive the view. `shapes`: of inputs with unknown dimensions; required for the fused view,
// optional for the view as written.
Result<std::unique_ptr<View>> written_view(const Source& source, const InputShapes& shapes);
Result<std::unique_ptr<View>> fused_view(const Source& source, const InputShapes& shapes);

}  // namespace anybit::codegen
