// A model that a generator turned into a file, with the backend that runs it if the generator has one.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "anybit/codegen.hpp"
#include "anybit/executor.hpp"
#include "codegen/backend.hpp"

namespace anybit {

class GeneratedModel {
 public:
  // `shapes`: of all inputs, by port; the code was generated for them.
  static Result<std::shared_ptr<GeneratedModel>> load(const Model& model, const std::string& generator,
                                                      const std::string& path, const CodegenOptions& options);

  const std::string& generator() const { return generator_; }
  anybit_preference preference() const { return preference_; }
  const std::string& path() const { return path_; }
  bool runs() const { return backend_ != nullptr; }
  // Whether the code was generated for this shape of the input.
  bool takes(const std::string& input, const std::vector<std::int64_t>& dims) const;
  // Of the backend; the model must run.
  const std::string& backend_name() const { return backend_->plugin().backend(); }

  // Sessions that share the model run one at a time.
  Result<std::vector<Value>> run(const std::map<std::string, Value>& inputs);

 private:
  Result<void> learn_ports(const Model& model, const CodegenOptions& options);

  std::string generator_, path_;
  anybit_preference preference_ = ANYBIT_PREFER_DEFAULT;
  std::vector<Port> inputs_, outputs_;  // every dimension is known
  std::unique_ptr<codegen::Backend> backend_;
  std::mutex mutex_;
};

}  // namespace anybit
