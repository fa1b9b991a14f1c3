#include "arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "anybit/version.hpp"
#include "numbers.hpp"
#include "options.hpp"
#include "terminal.hpp"

namespace anybit::cli {
namespace {

// Options of onert_run that anybit cannot honour, with the remedy.
struct Refused {
  const char* names;
  int values;
  const char* remedy;
};
constexpr Refused kRefused[] = {
    {"--dump,-d", 1, "--dump:raw writes raw files; HDF5 is not supported"},
    {"--dump-input-raw", 1, "the inputs are in the files of --load:raw"},
    {"--output_sizes", 1, "outputs have the size that the model gives them"},
    {"--output_shape", 1, "--dump:raw writes the elements without a shape"},
    {"--run_delay,--t", 1, "runs follow each other at once"},
    {"--gpumem_poll,-g", 0, "models run on the CPU"},
    {"--mem_poll,-m", 0, "'anybit run' and 'anybit bench' report the memory of a model"},
    {"--write_report,-p", 0, "'anybit run --json' and --profile report times"},
    {"--signature", 1, "ONNX models have no signatures: the whole model runs"},
};

// CLI11 allows no ':' in names. The guide writes "-- quantize" once.
std::vector<std::string> readable(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] != "--" || words[i + 1] != "quantize") continue;
    words[i] = "--quantize";
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  for (std::string& word : words) {
    for (const auto& [theirs, ours] :
         {std::pair("--load:raw", "--load-raw"), std::pair("--dump:raw", "--dump-raw"),
          std::pair("--dump_input:raw", "--dump-input-raw")}) {
      const std::string_view name = theirs;
      if (word == name || word.starts_with(std::string(name) + "=")) word = ours + word.substr(name.size());
    }
  }
  return words;
}

// "[0, [1, 2], 2, []]": shapes by the index of the input.
Result<void> parse_shapes(const std::string& option, const std::string& text,
                          std::map<std::size_t, std::vector<std::int64_t>>& shapes) {
  const Error bad = unreadable(option, text, "'[0, [1, 2], 2, []]'");
  const auto list = nlohmann::json::parse(text, nullptr, false);
  if (!list.is_array() || list.size() % 2 != 0) return bad;
  for (std::size_t i = 0; i < list.size(); i += 2) {
    if (!list[i].is_number_unsigned() || !list[i + 1].is_array()) return bad;
    std::vector<std::int64_t> dims;
    for (const auto& dim : list[i + 1]) {
      if (!dim.is_number_unsigned() || dim.get<std::uint64_t>() > INT32_MAX) return bad;
      dims.push_back(dim.get<std::int64_t>());
    }
    shapes[list[i].get<std::size_t>()] = std::move(dims);
  }
  return {};
}

struct Texts {
  std::string shape_prepare, shape_run;
  int verbose = 0;
  bool unused = false;
};

CLI::Option* add_count(CLI::App& app, const char* names, int& target, int lowest, const char* about) {
  return app.add_option(names, target, about)->transform(parse_integer(lowest, 1'000'000));
}

void add_compile_options(CLI::App& app, OnertArguments& arguments) {
  auto* const quantize = app.add_option(
      "--quantize,-q", arguments.quantize,
      "Quantize before the run: uint8, int16, int8_wo, int16_wo, or a preset of 'anybit recipes'");
  app.add_option("--qpath", arguments.qpath, "Where to write the quantized model [MODEL with .q.onnx]")
      ->needs(quantize);
  add_count(app, "--minmax_runs,--minmax_run", arguments.minmax_runs, 1,
            "Runs that gather ranges before full quantization [10]")
      ->needs(quantize);
  auto* const codegen = app.add_option("--codegen,-c", arguments.codegen,
                                       "Generate code before the run, with this plugin: NAME-gen");
  app.add_option("--cpath", arguments.cpath,
                 "Where to write the code [the model with the plugin's extension]")
      ->needs(codegen);
}

void add_run_options(CLI::App& app, OnertArguments& arguments, Texts& texts) {
  add_count(app, "--num_runs,-r", arguments.num_runs, 1, "The number of runs [1]");
  add_count(app, "--warmup_runs,-w", arguments.warmup_runs, 0, "Runs before those that are timed [0]");
  auto* const load = app.add_option("--load,-l", arguments.load,
                                    "Inputs: an .npz with their names, or an .npy for a single one");
  app.add_option("--load-raw", arguments.load_raw, "--load:raw PREFIX: inputs from PREFIX.0, PREFIX.1, …")
      ->excludes(load);
  app.add_option("--dump-raw", arguments.dump_raw, "--dump:raw PREFIX: outputs to PREFIX.0, PREFIX.1, …");
  // Other files have shapes of their own.
  app.add_option("--shape_prepare", texts.shape_prepare, "Shapes of inputs by index: '[0, [1, 2], 2, []]'")
      ->excludes(load);
  app.add_option("--shape_run", texts.shape_run, "The same")->excludes(load);
  app.add_option("--verbose_level,-v", texts.verbose, "Only 0: the results")->transform(parse_integer(0, 0));
  app.add_flag("--fixed_input", texts.unused, "All runs have the same input: they always have");
  app.add_flag("--force_float", texts.unused, "Buffers are float32: they always are");
}

// An empty text, such as that of an unset variable in a script, would count as an option that is not given.
Result<void> check_texts(const CLI::App& app) {
  const auto empty =
      app.get_options([](const CLI::Option* one) { return std::ranges::count(one->results(), "") > 0; });
  if (empty.empty()) return {};
  return Error{Code::invalid_argument, fmt::format("{} is empty", empty[0]->get_name()), {}, "give a value"};
}

Result<void> check_refused(const CLI::App& app) {
  for (const Refused& one : kRefused) {
    const std::string names = one.names, first = names.substr(0, names.find(','));
    if (app.get_option(first)->count() > 0)
      return Error{Code::invalid_argument, fmt::format("{} cannot be honoured", first), {}, one.remedy};
  }
  return {};
}

}  // namespace

Result<OnertArguments> parse_onert_arguments(int argc, char** argv) {
  CLI::App app(
      "Runs a model, after quantizing it and generating code for it on request: onert's program, by anybit.",
      "onert_run");
  OnertArguments arguments;
  Texts texts;
  std::vector<std::string> unused;
  bool flag = false;
  app.set_version_flag("--version", fmt::format("onert_run of anybit {}", version().text));
  app.add_option("PATH", arguments.path, "An ONNX model, or an nnpackage folder with one")->required();
  add_compile_options(app, arguments);
  add_run_options(app, arguments, texts);
  app.footer(
      "The variable BACKENDS lists the backends that may run the model, separated by ';', and NUM_THREADS "
      "is\n"
      "the number of threads. 'anybit run' can do more.");
  for (const Refused& one : kRefused) {
    auto* const option = one.values > 0 ? app.add_option(one.names, unused) : app.add_flag(one.names, flag);
    option->group("");  // not in the help
  }
  std::vector<std::string> words = readable(argc, argv);
  std::ranges::reverse(words);  // as CLI11 takes them
  try {
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    arguments.output = app.help();
    return arguments;
  } catch (const CLI::CallForVersion& asked) {
    arguments.output = asked.what() + std::string("\n");
    return arguments;
  } catch (const CLI::ParseError& error) {
    return Error{Code::invalid_argument, printable(error.what()), {}, "'onert_run --help' lists the options"};
  }
  auto checked = check_refused(app);
  if (checked.ok()) checked = check_texts(app);
  if (!checked.ok()) return std::move(checked).error();
  for (const auto& [option, text] :
       {std::pair("--shape_prepare", texts.shape_prepare), std::pair("--shape_run", texts.shape_run)}) {
    if (text.empty()) continue;
    if (auto parsed = parse_shapes(option, text, arguments.shapes); !parsed.ok())
      return std::move(parsed).error();
  }
  return arguments;
}

}  // namespace anybit::cli
