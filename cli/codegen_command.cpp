// anybit codegen MODEL: runs a code generator, which writes files for a backend.
#include "anybit/codegen.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "command.hpp"
#include "options.hpp"
#include "table.hpp"

namespace anybit::cli {
namespace {

struct CodegenFlags {
  std::string model, target, output, preference = "default";
  LoadOptions load;
  std::vector<std::string> shapes, constants, settings, folders;
  bool list = false, json = false;
};

Result<void> list_all(const CodegenFlags& options) {
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
                      {"backend", one.backend_name},
                      {"library", one.library}});
    fmt::print("{}\n", list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return {};
  }
  Table table({{"GENERATOR"}, {"FILE"}, {"SUMMARY"}, {""}, {"LIBRARY"}});
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
    if (equals == std::string::npos || equals == 0) return unreadable("--set", one, "NAME=TEXT");
    const std::string name = one.substr(0, equals);
    if (!settings.emplace(name, one.substr(equals + 1)).second) return given_twice("--set", name);
  }
  return settings;
}

template <class T>
Result<Array> array_of(const char* type, const std::vector<T>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  std::vector<std::int64_t> dims;  // a single number is a scalar
  if (numbers.size() != 1) dims.push_back(static_cast<std::int64_t>(numbers.size()));
  return Array::from_bytes(type, {bytes.begin(), bytes.end()}, dims);
}

template <class T>
std::optional<std::vector<T>> parse_numbers(std::string_view text) {
  std::vector<T> numbers;
  for (;;) {
    const std::string_view one = text.substr(0, text.find(','));
    T number{};
    const auto [end, problem] = std::from_chars(one.data(), one.data() + one.size(), number);
    if (problem != std::errc() || end != one.data() + one.size()) return std::nullopt;
    numbers.push_back(number);
    if (one.size() == text.size()) return numbers;
    text.remove_prefix(one.size() + 1);
  }
}

// Integers, floats, or a file.
Result<Array> parse_constant(const std::string& text) {
  if (const auto integer = parse_numbers<std::int64_t>(text)) return array_of("int64", *integer);
  if (const auto real = parse_numbers<double>(text)) return array_of("float64", *real);
  return read_npy(text);
}

// Distinguishes file names from mistyped numbers: a file name ends in .npy or names an existing file.
bool names_file(const std::string& text) {
  std::error_code ignored;
  return text.ends_with(".npy") || std::filesystem::is_regular_file(text, ignored);
}

// "sr=16000", "scales=1,1,2,2" or "mask=mask.npy".
Result<std::map<std::string, Array>> parse_constants(const std::vector<std::string>& texts) {
  std::map<std::string, Array> constants;
  for (const std::string& one : texts) {
    const std::size_t equals = one.rfind('=');
    const std::string text = equals == std::string::npos ? "" : one.substr(equals + 1);
    const bool readable = parse_numbers<double>(text) || names_file(text);
    if (equals == 0 || !readable)
      return unreadable("--constant", one, "sr=16000, scales=1,1,2,2 or mask=mask.npy");
    auto array = parse_constant(text);
    if (!array.ok()) return std::move(array).error().within("--constant " + one);
    const std::string name = one.substr(0, equals);
    if (!constants.emplace(name, std::move(array).value()).second) return given_twice("--constant", name);
  }
  return constants;
}

Result<void> run(const CodegenFlags& options) {
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
  auto shapes = parse_shapes("--shape", options.shapes);
  if (!shapes.ok()) return std::move(shapes).error();
  with.shapes = *std::move(shapes);
  auto constants = parse_constants(options.constants);
  if (!constants.ok()) return std::move(constants).error();
  with.constants = *std::move(constants);
  with.folders = options.folders;
  auto model = load_model(options.model, options.load);
  if (!model.ok()) return std::move(model).error();
  auto path = generate_code(*model, options.target, options.output, with);
  if (!path.ok())
    return of_generator(in_file(std::move(path).error(), options.model), options.target, options.folders);
  if (options.json) {
    const nlohmann::ordered_json result{{"target", options.target}, {"path", *path}};
    fmt::print("{}\n", result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{}\n", *path);
  }
  return {};
}

std::function<Result<void>()> set_up_codegen(CLI::App& app) {
  auto options = std::make_shared<CodegenFlags>();
  app.add_option("MODEL", options->model, "The ONNX file");
  app.add_option("-t,--target", options->target, "The generator: c-gen, so-gen, … (--list shows all)")
      ->type_name("NAME-gen");
  app.add_option("-o,--output", options->output,
                 "Where to write [the model's path with the generator's extension]");
  app.add_option("--prefer", options->preference,
                 "Optimize for default, performance, memory or compile-time");
  app.add_option("--shape", options->shapes, "Fix the shape of an input: x=1,3,640,640 (may be repeated)")
      ->type_name("NAME=SIZES")
      ->allow_extra_args(false);
  app.add_option("--constant", options->constants,
                 "Make an input a constant, such as one that selects a branch: sr=16000 (may be repeated)")
      ->type_name("NAME=NUMBERS|FILE.npy")
      ->allow_extra_args(false);
  app.add_option("--set", options->settings, "A generator-specific setting (may be repeated)")
      ->type_name("NAME=TEXT")
      ->allow_extra_args(false);
  app.add_option("--plugins", options->folders,
                 "A folder to search first for generators; an absolute path (may be repeated)")
      ->type_name("DIR")
      ->allow_extra_args(false);
  app.add_flag("--list", options->list, "List the generators");
  app.add_flag("--json", options->json, "Print the result as JSON");
  add_load_options(app, options->load);
  return [options] { return run(*options); };
}

}  // namespace

Command codegen_command() {
  return {"Turn a model into files for a backend: C, a shared library, …", set_up_codegen};
}

}  // namespace anybit::cli
