// Runs a generated file with the backend functions of its plugin.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "codegen/plugin.hpp"

namespace anybit::codegen {

// A loaded file. One run at a time.
class Backend {
 public:
  // An error if the plugin has no backend or cannot load the file.
  static Result<std::unique_ptr<Backend>> load(std::shared_ptr<const Plugin> plugin, const std::string& path);
  ~Backend();
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  // Inputs and outputs in the model's order; the caller owns the memory of both.
  Result<void> run(std::span<const anybit_tensor> inputs, std::span<anybit_tensor> outputs);
  const Plugin& plugin() const { return *plugin_; }

 private:
  explicit Backend(std::shared_ptr<const Plugin> plugin) : plugin_(std::move(plugin)) {}

  std::shared_ptr<const Plugin> plugin_;
  void* loaded_ = nullptr;
};

}  // namespace anybit::codegen
