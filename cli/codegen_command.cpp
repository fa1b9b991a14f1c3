// anybit codegen MODEL: files for a backend, by a code generator.
#include "anybit/codegen.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "options.hpp"
#include "table.hpp"

namespace anybit::cli {
namespace {

struct Options {
  std::string model, target, output, preference = "default";
  LoadOptions load;
  std::vector<std::string> shapes, settings, folders;
  bool list = false, json = false;
};

Result<void> list_all(const Options& options) {
  for (const std::string& folder : options.folders) {
    if (!folder.starts_with('/'))
      return Error{Code::invalid_argument, fmt::format("--plugins {}", folder), {}, "an absolute path"};
  }
  const auto generators = list_generators(options.folders);
  if (options.json) {
    auto list = nlohmann::ordered_json::array();
    for (const GeneratorInfo& one : generators)
      list.push_back({{"name", one.name},
                      {"extension", one.extension},
                      {"summary", one.summary},
                      {"runs", one.backend},
                      {"library", one.library}});
    fmt::print("{}\n", list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return {};
  }
  Table table({{"GENERATOR"}, {"FILE"}, {"WHAT IT MAKES"}, {""}, {"LIBRARY"}});
  for (const GeneratorInfo& one : generators)
    table.add({one.name, one.extension, one.summary, one.backend ? "can run it" : "", one.library});
  fmt::print("{}", table.empty() ? "There is no code generator.\n" : table.text(0));
  return {};
}

// "name=text"; the text may hold '=', the name may not.
Result<std::map<std::string, std::string>> parse_settings(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> settings;
  for (const std::string& one : texts) {
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0)
      return Error{Code::invalid_argument, fmt::format("--set {}", one), {}, "--set NAME=TEXT"};
    if (!settings.emplace(one.substr(0, equals), one.substr(equals + 1)).second)
      return Error{
          Code::invalid_argument, fmt::format("--set {}: it is set twice", one.substr(0, equals)), {}, {}};
  }
  return settings;
}

Result<void> run(const Options& options) {
  if (options.list) return list_all(options);
  if (options.model.empty() || options.target.empty())
    return Error{Code::invalid_argument,
                 options.model.empty() ? "no model is given" : "no generator is given",
                 {},
                 "anybit codegen MODEL --target NAME-gen, or --list"};
  CodegenOptions with;
  auto preference = parse_preference(options.preference);
  if (!preference.ok()) return std::move(preference).error();
  with.preference = *preference;
  auto settings = parse_settings(options.settings);
  if (!settings.ok()) return std::move(settings).error();
  with.settings = *std::move(settings);
  auto shapes = parse_shapes(options.shapes);
  if (!shapes.ok()) return std::move(shapes).error();
  with.shapes = *std::move(shapes);
  with.folders = options.folders;
  auto model = Model::load(options.model, options.load);
  if (!model.ok()) return in_file(std::move(model).error(), options.model);
  auto path = generate_code(*model, options.target, options.output, with);
  if (!path.ok()) return in_file(std::move(path).error(), options.model);
  if (options.json) {
    const nlohmann::ordered_json result{{"target", options.target}, {"path", *path}};
    fmt::print("{}\n", result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{}\n", *path);
  }
  return {};
}

std::function<Result<void>()> set_up(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("MODEL", options->model, "The ONNX file");
  app.add_option("-t,--target", options->target,
                 "The generator: c-gen, so-gen, … (--list shows those there are)")
      ->type_name("NAME-gen");
  app.add_option("-o,--output", options->output,
                 "Where to write; the model's path with the generator's extension if it is not given");
  app.add_option("--prefer", options->preference, "default, performance, memory or compile-time");
  app.add_option("--shape", options->shapes,
                 "The shape of an input that the model leaves open: x=1,3,640,640 (may be repeated)")
      ->type_name("NAME=SIZES")
      ->allow_extra_args(false);
  app.add_option("--set", options->settings, "A setting of the generator's own (may be repeated)")
      ->type_name("NAME=TEXT")
      ->allow_extra_args(false);
  app.add_option("--plugins", options->folders,
                 "A folder to look for generators in first; an absolute path (may be repeated)")
      ->type_name("DIR")
      ->allow_extra_args(false);
  app.add_flag("--list", options->list, "List the generators");
  app.add_flag("--json", options->json, "Print the result as JSON");
  add_load_options(app, options->load);
  return [options] { return run(*options); };
}

}  // namespace

Command codegen_command() {
  return {"Turn a model into files for a backend: C, a shared library, …", set_up};
}

}  // namespace anybit::cli
