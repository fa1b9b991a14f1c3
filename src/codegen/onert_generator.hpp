// Code generators made for onert: libraries that export create_codegen and destroy_codegen
// (nnfw/odc/ICodegen.h).
#pragma once

#include <string>

#include "anybit/result.hpp"
#include "nnfw/odc/ICodegen.h"

namespace anybit::codegen {

// The two functions of a loaded library.
class OnertGenerator {
 public:
  // `library`: a handle of dlopen, which stays loaded.
  explicit OnertGenerator(void* library);

  bool found() const { return create_ != nullptr; }
  bool complete() const { return create_ && destroy_; }
  // Hands over the file `model`; the generator writes the file `path`. `name` is for messages.
  Result<void> generate(const std::string& name, const std::string& model, const std::string& path) const;

 private:
  onert::odc::ICodegen* (*create_)();
  void (*destroy_)(onert::odc::ICodegen*);
};

}  // namespace anybit::codegen
