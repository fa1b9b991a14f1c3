#include "options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <optional>

namespace anybit::cli {
namespace {

std::optional<std::int64_t> parse_size(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = problem == std::errc() && end == text.data() + text.size();
  return whole && number >= 0 ? std::optional(number) : std::nullopt;
}

Error bad(std::string_view option, std::string_view text, std::string_view example) {
  return {Code::invalid_argument,
          fmt::format("{}: cannot read '{}'", option, text),
          {},
          fmt::format("write it like {} {}", option, example)};
}

}  // namespace

void add_load_options(CLI::App& app, LoadOptions& options) {
  constexpr const char* kGroup = "Limits and safety";
  app.add_option("--max-rank", options.limits.rank, "Refuse tensors with more dimensions")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber)
      ->group(kGroup);
  app.add_option("--max-elements", options.limits.elements, "Refuse tensors with more elements")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber)
      ->group(kGroup);
  app.add_option("--max-nodes", options.limits.nodes, "Refuse models with more nodes")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber)
      ->group(kGroup);
  app.add_option("--max-depth", options.limits.depth, "Refuse graphs nested deeper")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber)
      ->group(kGroup);
  app.add_option("--max-records", options.limits.records, "Refuse files with more messages and strings")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber)
      ->group(kGroup);
  app.add_flag(
         "--allow-linked-data", options.allow_linked_data,
         "Let external data be symbolic or hard links, as in the caches of package managers and model hubs")
      ->group(kGroup);
}

void add_executor_options(CLI::App& app, ExecutorOptions& options) {
  app.add_option("--threads", options.threads, "Threads to use; 0: one for each core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_option("--max-memory", options.max_memory,
                 "Stop with an error rather than use more for values and prepared weights: 500MB, 2GB")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("SIZE");
}

void add_in_place_flag(CLI::App& app, bool& in_place) {
  app.add_flag("--in-place", in_place, "Let the output take the place of the model");
}

Result<void> check_output(const std::string& model, const std::string& output, bool in_place) {
  std::error_code error;
  if (in_place || !std::filesystem::equivalent(model, output, error) || error) return {};
  return Error{Code::invalid_argument,
               fmt::format("'{}' is the model itself", output),
               {},
               "another name for the output, or --in-place"};
}

Error in_file(Error error, const std::string& path) {
  const bool named =
      error.message.find(path) != std::string::npos || error.place.find(path) != std::string::npos;
  return named ? error : std::move(error).within(path);
}

Result<std::map<std::string, std::vector<std::int64_t>>> parse_shapes(const std::vector<std::string>& texts) {
  constexpr std::string_view kOption = "--input-shape", kExample = "x=1,3,640,640";
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const std::string& text : texts) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0) return bad(kOption, text, kExample);
    std::vector<std::int64_t> shape;
    std::string_view rest = std::string_view(text).substr(equals + 1);
    while (!rest.empty()) {
      const std::size_t comma = rest.find(',');
      const auto size = parse_size(rest.substr(0, comma));
      if (!size || comma + 1 == rest.size()) return bad(kOption, text, kExample);
      shape.push_back(*size);
      rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
    }
    shapes[text.substr(0, equals)] = std::move(shape);
  }
  return shapes;
}

Result<std::map<std::string, std::int64_t>> parse_dims(const std::vector<std::string>& texts) {
  std::map<std::string, std::int64_t> dims;
  for (const std::string& text : texts) {
    const std::size_t equals = text.rfind('=');
    const auto size =
        equals == std::string::npos ? std::nullopt : parse_size(std::string_view(text).substr(equals + 1));
    if (!size || equals == 0) return bad("--dim", text, "batch=8");
    dims[text.substr(0, equals)] = *size;
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
