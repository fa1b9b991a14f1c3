#include "options.hpp"

#include "numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <sstream>

#include "anybit/codegen.hpp"
#include "anybit/convert_opset.hpp"
#include "terminal.hpp"

namespace anybit::cli {
namespace {

constexpr std::size_t kRemarks = 5;  // a file may have hundreds

std::optional<std::int64_t> parse_size(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = problem == std::errc() && end == text.data() + text.size();
  return whole && number >= 0 ? std::optional(number) : std::nullopt;
}

}  // namespace

std::vector<std::string> comma_separated(const std::vector<std::string>& values) {
  constexpr const char* kSpace = " \t\r\n";
  std::vector<std::string> words;
  for (const std::string& text : values) {
    std::stringstream stream(text);
    for (std::string word; std::getline(stream, word, ',');) {
      const std::size_t first = word.find_first_not_of(kSpace);
      if (first != std::string::npos)
        words.push_back(word.substr(first, word.find_last_not_of(kSpace) - first + 1));
    }
  }
  return words;
}

Error unreadable(std::string_view option, std::string_view text, std::string_view example) {
  return {Code::invalid_argument,
          fmt::format("{}: cannot read '{}'", option, text),
          {},
          fmt::format("write it like {} {}", option, example)};
}

Error given_twice(std::string_view option, std::string_view name) {
  return {Code::invalid_argument, fmt::format("{}: '{}' is given twice", option, name), {}, "once"};
}

void add_load_options(CLI::App& app, LoadOptions& options) {
  constexpr const char* kGroup = "Limits and safety";
  const auto add_limit = [&](const char* name, std::int64_t& limit, const char* about) {
    app.add_option(name, limit, about)->capture_default_str()->transform(parse_integer(0))->group(kGroup);
  };
  add_limit("--max-rank", options.limits.rank, "Reject tensors with more dimensions");
  add_limit("--max-elements", options.limits.elements, "Reject tensors with more elements");
  add_limit("--max-nodes", options.limits.nodes, "Reject models with more nodes");
  add_limit("--max-depth", options.limits.depth, "Reject graphs nested deeper");
  add_limit("--max-records", options.limits.records, "Reject files with more messages and strings");
  add_limit("--max-work-bytes", options.limits.work_bytes,
            "Budget of bytes that constant folding may produce, in addition to 32 per byte of the constants");
  add_limit("--max-work-elements", options.limits.work_elements,
            "Budget of elements that constant folding may read, write and multiply, in addition to 256 per "
            "byte of the constants");
  add_limit("--max-work-nodes", options.limits.work_nodes,
            "Reject models whose functions expand to more nodes");
  app.add_flag("--allow-linked-data", options.allow_linked_data,
               "Accept external data in symbolic or hard links, as in the caches of package managers and "
               "model hubs")
      ->group(kGroup);
}

void add_executor_options(CLI::App& app, ExecutorOptions& options) {
  app.add_option("--threads", options.threads, "Threads to use; 0: one per core")
      ->transform(parse_integer(0, 1024))
      ->capture_default_str();
  app.add_option("--max-memory", options.max_memory,
                 "Memory limit for activations and packed weights, an error if exceeded: 500MB, 2GB")
      ->transform(memory_size())
      ->type_name("SIZE");
}

void add_in_place_flag(CLI::App& app, bool& in_place) {
  app.add_flag("--in-place", in_place, "Allow the output to overwrite the model");
}

Result<void> check_output(const std::string& model, const std::string& output, bool in_place) {
  std::error_code error;
  if (in_place || !std::filesystem::equivalent(model, output, error) || error) return {};
  return Error{Code::invalid_argument,
               fmt::format("'{}' is the model itself", output),
               {},
               "another name for the output, or --in-place"};
}

Result<Model> load_model(const std::string& path, const LoadOptions& options) {
  auto model = Model::load(path, options);
  if (!model.ok()) return in_file(std::move(model).error(), path);
  if (const std::string newer = newer_opset(*model); !newer.empty()) {
    fmt::print(stderr, "anybit: {}: {}\n  hint: operators that changed since then run as they were\n",
               printable(path), newer);
  }
  const std::vector<Error>& remarks = model->remarks();
  for (std::size_t i = 0; i < std::min(remarks.size(), kRemarks); ++i) {
    fmt::print(stderr, "anybit: {}: {}: {}\n  hint: {}\n", printable(path), printable(remarks[i].place),
               printable(remarks[i].message), remarks[i].hint);
  }
  if (remarks.size() > kRemarks)
    fmt::print(stderr, "anybit: … and {} more: 'anybit inspect' lists them\n", remarks.size() - kRemarks);
  return model;
}

Error in_file(Error error, const std::string& path) {
  const bool named =
      error.message.find(path) != std::string::npos || error.place.find(path) != std::string::npos;
  return named ? error : std::move(error).within(path);
}

Error of_model(Error error, const std::string& path) {
  return error.place.starts_with("sample ") ? error : in_file(std::move(error), path);
}

Error wrong_call(Error error) {
  if (error.code == Code::not_found) error.code = Code::invalid_argument;
  return error;
}

Error of_generator(Error error, const std::string& name, const std::vector<std::string>& folders) {
  const bool known = std::ranges::count(list_generators(folders), name, &GeneratorInfo::name) != 0;
  return known ? error : wrong_call(std::move(error));
}

Result<std::map<std::string, std::vector<std::int64_t>>> parse_shapes(std::string_view option,
                                                                      const std::vector<std::string>& texts) {
  constexpr std::string_view kExample = "x=1,3,640,640";
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const std::string& text : texts) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0) return unreadable(option, text, kExample);
    std::vector<std::int64_t> shape;
    std::string_view rest = std::string_view(text).substr(equals + 1);
    while (!rest.empty()) {
      const std::size_t comma = rest.find(',');
      const auto size = parse_size(rest.substr(0, comma));
      if (!size || comma + 1 == rest.size()) return unreadable(option, text, kExample);
      shape.push_back(*size);
      rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
    }
    const std::string name = text.substr(0, equals);
    if (!shapes.emplace(name, std::move(shape)).second) return given_twice(option, name);
  }
  return shapes;
}

Result<std::map<std::string, std::int64_t>> parse_dims(const std::vector<std::string>& texts) {
  std::map<std::string, std::int64_t> dims;
  for (const std::string& text : texts) {
    const std::size_t equals = text.rfind('=');
    const auto size =
        equals == std::string::npos ? std::nullopt : parse_size(std::string_view(text).substr(equals + 1));
    if (!size || equals == 0) return unreadable("--dim", text, "batch=8");
    const std::string name = text.substr(0, equals);
    if (!dims.emplace(name, *size).second) return given_twice("--dim", name);
  }
  return dims;
}

Result<anybit_preference> parse_preference(const std::string& text) {
  if (text == "default") return ANYBIT_PREFER_DEFAULT;
  if (text == "performance") return ANYBIT_PREFER_PERFORMANCE;
  if (text == "memory") return ANYBIT_PREFER_MEMORY;
  if (text == "compile-time") return ANYBIT_PREFER_COMPILE_TIME;
  return Error{Code::invalid_argument,
               fmt::format("--prefer: '{}'", text),
               {},
               "default, performance, memory or compile-time"};
}

}  // namespace anybit::cli
