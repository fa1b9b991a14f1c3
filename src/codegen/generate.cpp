#include "codegen/generate.hpp"

#include <filesystem>

#include "base/error.hpp"
#include "base/file_size_signal.hpp"
#include "base/try.hpp"
#include "codegen/output.hpp"

namespace anybit::codegen {
namespace {

namespace fs = std::filesystem;

// "net.onnx" becomes "net.c"; "net.onnx-gen.onnx" where that would be the model.
Result<std::string> default_path(const Source& source, const anybit_codegen_plugin& plugin) {
  if (source.path.empty())
    return invalid_argument("a model that came from memory has no path to derive one from",
                            "a path for what is generated");
  const std::filesystem::path model(source.path);
  std::filesystem::path path = model;
  path.replace_extension(plugin.extension);
  if (path == model || is_same_file(path.string(), source.path))
    path.replace_extension(fmt::format(".{}{}", plugin.name, plugin.extension));
  return path.string();
}

// `files`, followed by the files that hold the model.
std::vector<std::string> files_of(const Source& source, std::vector<std::string> files) {
  if (!source.path.empty()) files.push_back(source.path);
  for (const auto& one : source.model.sources) files.push_back(one->path());
  return files;
}

Result<void> generate_from_view(const anybit_codegen_plugin& table, const Source& source,
                                const std::string& staged, const CodegenOptions& options) {
  const auto view = TRY(table.view == ANYBIT_VIEW_FUSED ? fused_view(source, options.shapes)
                                                        : written_view(source, options.shapes));
  std::vector<const char*> names, texts;
  for (const auto& [name, text] : options.settings) {
    names.push_back(name.c_str());
    texts.push_back(text.c_str());
  }
  const anybit_codegen_options asked{options.preference, names.size(), names.data(), texts.data()};
  Said said;
  int result = 0;
  const bool returned =
      called(said, [&] { result = table.generate(&view->view(), &asked, staged.c_str(), said.target()); });
  if (!returned || result != 0)
    return said.error(table.name, fmt::format("it failed with {} and said nothing", result));
  return {};
}

// Shapes and preference are no part of onert's interface: its generators see the file alone.
Result<void> generate_from_file(const OnertGenerator& generator, const std::string& name,
                                const Source& source, const std::string& staged,
                                const CodegenOptions& options) {
  if (!options.settings.empty())
    return error_at(Code::invalid_argument, name,
                    fmt::format("a setting '{}' for a generator made for onert, which takes none",
                                shown(options.settings.begin()->first)));
  if (!source.save) return generator.generate(name, fs::absolute(source.path).string(), staged);
  // A folder of its own: large weights become further files.
  const fs::path folder = fs::path(staged).parent_path() / "model";
  fs::create_directory(folder);
  const std::string model = (folder / "model.onnx").string();
  TRY(source.save(model));
  auto done = generator.generate(name, model, staged);
  fs::remove_all(folder);
  return done;
}

}  // namespace

Result<std::string> generate(const Plugin& plugin, const Source& source, const std::string& path,
                             const CodegenOptions& options) {
  const anybit_codegen_plugin& table = plugin.table();
  const std::string target = path.empty() ? TRY(default_path(source, table)) : path;
  Output output = TRY(Output::make(target, table.extension, files_of(source, options.keep)));
  const NoFileSizeSignal no_signal;
  TRY(plugin.onert() ? generate_from_file(*plugin.onert(), plugin.name(), source, output.staged(), options)
                     : generate_from_view(table, source, output.staged(), options));
  for (const auto& one : source.model.sources) TRY(one->intact());
  auto written = output.commit();
  if (!written.ok()) return std::move(written).error().within(table.name);
  return target;
}

}  // namespace anybit::codegen
