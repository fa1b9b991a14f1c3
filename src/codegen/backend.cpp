#include "codegen/backend.hpp"

#include "base/error.hpp"

namespace anybit::codegen {

Result<std::unique_ptr<Backend>> Backend::load(std::shared_ptr<const Plugin> plugin,
                                               const std::string& path) {
  const anybit_codegen_plugin& table = plugin->table();
  if (!table.load)
    return error_at(Code::unsupported, table.name,
                    "it has no backend: it generates files but cannot run them");
  std::unique_ptr<Backend> backend(new Backend(std::move(plugin)));
  Said said;
  const bool returned = called(said, [&] { backend->loaded_ = table.load(path.c_str(), said.target()); });
  if (!returned || !backend->loaded_)
    return said.error(table.name, fmt::format("it cannot load '{}'", shown(path)));
  return backend;
}

Backend::~Backend() {
  Said ignored;
  if (loaded_) called(ignored, [&] { plugin_->table().unload(loaded_); });
}

Result<void> Backend::run(std::span<const anybit_tensor> inputs, std::span<anybit_tensor> outputs) {
  Said said;
  int result = 0;
  const bool returned = called(said, [&] {
    result = plugin_->table().run(loaded_, inputs.data(), inputs.size(), outputs.data(), outputs.size(),
                                  said.target());
  });
  if (!returned || result != 0)
    return said.error(plugin_->table().name, fmt::format("the run failed with {}", result));
  return {};
}

}  // namespace anybit::codegen
