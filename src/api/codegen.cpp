#include "anybit/codegen.hpp"

#include "api/constant_inputs.hpp"
#include "api/model_access.hpp"
#include "base/guard.hpp"
#include "base/try.hpp"
#include "codegen/generate.hpp"
#include "io/onnx/content_hash.hpp"

namespace anybit {
namespace {

GeneratorInfo info_of(const std::string& library) {
  GeneratorInfo info;
  info.name = codegen::Plugin::name_of(library);
  info.library = library;
  const auto plugin = codegen::Plugin::load(library);
  if (!plugin.ok()) {
    info.summary = plugin.error().message;
    return info;
  }
  const anybit_codegen_plugin& table = (*plugin)->table();
  info.extension = table.extension;
  info.summary = table.summary ? table.summary : "";
  info.backend = table.load != nullptr;
  info.backend_name = (*plugin)->backend();
  return info;
}

}  // namespace

Result<std::string> generate_code(const Model& model, const std::string& name, const std::string& path,
                                  const CodegenOptions& options) noexcept {
  return guarded([&]() -> Result<std::string> {
    const Model constant = TRY(with_constant_inputs(model, options.constants));
    const Model::Content& content = ModelAccess::content(constant);
    const auto plugin = TRY(codegen::Plugin::find(name, options.folders));
    const std::string hash = TRY(onnx::content_hash(ModelAccess::content(model).model));
    codegen::Source source{content.model, content.path, hash, content.limits};
    if (content.path.empty() || !options.constants.empty())
      source.save = [&](const std::string& file) { return constant.save(file); };
    return codegen::generate(*plugin, source, path, options);
  });
}

std::vector<GeneratorInfo> list_generators(const std::vector<std::string>& folders) noexcept {
  auto list = guarded([&]() -> Result<std::vector<GeneratorInfo>> {
    std::vector<GeneratorInfo> found;
    for (const std::string& library : TRY(codegen::Plugin::list(folders))) found.push_back(info_of(library));
    return found;
  });
  return list.ok() ? std::move(list).value() : std::vector<GeneratorInfo>();
}

}  // namespace anybit
