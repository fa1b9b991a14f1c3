// anybit convert FILE.npy --format NAME -o OUT: converts a tensor to a number format, and back.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "anybit/npy.hpp"
#include "command.hpp"
#include "conversion_text.hpp"
#include "format_options.hpp"
#include "numbers.hpp"
#include "options.hpp"
#include "quantized_file.hpp"

namespace anybit::cli {
namespace {

struct ConvertFlags {
  std::string input, output, format, granularity, rounding = "half_even";
  std::vector<std::string> set;
  TensorFormatOptions tensor;
  bool dequantized = false, unpack = false, json = false;
};

// Appends a missing file extension, as numpy.save does.
std::string with_ending(const std::string& path, const std::string& ending) {
  return path.ends_with(ending) ? path : path + ending;
}

Result<void> check_apart(const std::string& input, const std::string& output) {
  std::error_code ignored;
  if (!std::filesystem::equivalent(input, output, ignored)) return {};
  return Error{Code::invalid_argument,
               fmt::format("'{}' is both input and output", output),
               {},
               "another name after -o"};
}

Result<TensorFormatOptions> tensor_options(const ConvertFlags& options) {
  TensorFormatOptions result = options.tensor;
  auto parameters = parse_parameters(options.format, options.set);
  if (!parameters.ok()) return std::move(parameters).error();
  result.parameters = *std::move(parameters);
  auto rounding = rounding_named(options.rounding);
  if (!rounding.ok()) return std::move(rounding).error();
  result.rounding = *rounding;
  if (!options.granularity.empty()) {
    auto granularity = granularity_named(options.granularity);
    if (!granularity.ok()) return std::move(granularity).error();
    result.granularity = *granularity;
  }
  return result;
}

Result<void> unpack(const ConvertFlags& options) {
  const std::string output = with_ending(options.output, ".npy");
  if (auto apart = check_apart(options.input, output); !apart.ok()) return apart;
  const auto tensor = read_quantized(options.input, options.tensor.threads);
  if (!tensor.ok()) return tensor.error();
  std::vector<float> values(static_cast<std::size_t>(tensor->format.count()));
  auto done = tensor->format.decode_packed(tensor->packed, tensor->shared, values);
  if (!done.ok()) return std::move(done).error().within(options.input);
  auto array = Array::from_floats(std::move(values), tensor->format.dims());
  if (!array.ok()) return std::move(array).error();
  done = write_npy(output, *array);
  if (!done.ok()) return done;
  const auto bytes = stored_bytes(*tensor);
  if (!bytes.ok()) return bytes.error();
  const Conversion conversion{
      .input = options.input, .output = output, .format = tensor->format, .bytes = *bytes};
  fmt::print("{}", options.json ? to_json(conversion) : to_text(conversion));
  return {};
}

// Formats take float32. A number beyond its range is an error unless the caller allows infinity.
Result<std::vector<float>> float_values(const Array& array, const ConvertFlags& options,
                                        Narrowing& narrowing) {
  auto values = array.to_floats();
  if (!values.ok()) return std::move(values).error();
  narrowing = narrowing_of(array, *values);
  if (auto intact = array.intact(); !intact.ok()) return std::move(intact).error();
  if (narrowing.infinite_at < 0 || options.tensor.allow_nonfinite) return values;
  return Error{Code::invalid_data, fmt::format("{:g} is beyond the range of float32", narrowing.infinite),
               "value " + index_text(narrowing.infinite_at, array.dims),
               "scale the values, or let it become infinite: --allow-nonfinite"};
}

// Replaces the library's hint by one that names the command-line option.
Error with_our_flag(Error error) {
  if (error.code == Code::invalid_data) error.hint = "--allow-nonfinite accepts Inf and NaN";
  return error;
}

// Converts, records the losses, and writes the output.
Result<void> convert_values(const std::vector<float>& values, const ConvertFlags& options,
                            QuantizedTensor tensor, Conversion& conversion) {
  std::vector<float> quantized(values.size());
  if (options.dequantized) {
    auto shared = tensor.format.choose_and_quantize(values, quantized);
    if (!shared.ok()) return with_our_flag(std::move(shared).error()).within(options.input);
    tensor.shared = *std::move(shared);
  } else {
    tensor.packed.resize(static_cast<std::size_t>(tensor.format.packed_bytes()));
    auto shared = tensor.format.choose_and_pack(values, tensor.packed);
    if (!shared.ok()) return with_our_flag(std::move(shared).error()).within(options.input);
    tensor.shared = *std::move(shared);
    auto decoded = tensor.format.decode_packed(tensor.packed, tensor.shared, quantized);
    if (!decoded.ok()) return decoded;
    const auto bytes = stored_bytes(tensor);
    if (!bytes.ok()) return bytes.error();
    conversion.bytes = *bytes;
  }
  const auto losses = tensor.format.losses(values, tensor.shared, quantized);
  if (!losses.ok()) return losses.error();
  conversion.losses = *losses;
  if (!options.dequantized) return write_quantized(conversion.output, tensor);
  const auto array = Array::from_floats(std::move(quantized), tensor.format.dims());
  return array.ok() ? write_npy(conversion.output, *array) : Result<void>(array.error());
}

Result<void> convert(const ConvertFlags& options) {
  const std::string output = with_ending(options.output, options.dequantized ? ".npy" : ".npz");
  if (auto apart = check_apart(options.input, output); !apart.ok()) return apart;
  auto tensor_opts = tensor_options(options);
  if (!tensor_opts.ok()) return std::move(tensor_opts).error();
  const auto array = read_npy(options.input);
  if (!array.ok()) return array.error();
  auto format = TensorFormat::make(options.format, array->dims, *tensor_opts);
  if (!format.ok()) return wrong_call(std::move(format).error());
  Conversion conversion{.input = options.input, .output = output, .format = *format};
  const auto values = float_values(*array, options, conversion.narrowing);
  if (!values.ok()) return Error(values.error()).within(options.input);
  auto done = convert_values(*values, options, {*format, *tensor_opts, {}, {}}, conversion);
  if (!done.ok()) return done;
  fmt::print("{}", options.json ? to_json(conversion) : to_text(conversion));
  return {};
}

// The output must be a regular file: an extension may be appended, which suits neither folders nor devices.
Result<void> check_name(const std::string& output) {
  std::error_code ignored;
  const bool names = std::filesystem::path(output).has_filename();
  const auto there = std::filesystem::status(output, ignored);
  if (names && (!std::filesystem::exists(there) || std::filesystem::is_regular_file(there))) return {};
  return Error{
      Code::invalid_argument, fmt::format("cannot write '{}': it is not a file name", output), {}, "-o NAME"};
}

Result<void> run(const ConvertFlags& options) {
  if (auto checked = check_name(options.output); !checked.ok()) return checked;
  if (options.unpack) return unpack(options);
  if (!options.format.empty()) return convert(options);
  return Error{
      Code::invalid_argument, "no format is given", {}, "--format NAME; 'anybit formats' lists them"};
}

std::function<Result<void>()> set_up_convert(CLI::App& app) {
  auto options = std::make_shared<ConvertFlags>();
  app.add_option("FILE", options->input,
                 "The tensor: .npy with numbers; with --unpack, .npz from this command")
      ->required();
  app.add_option("-o,--output", options->output, "Where to write; .npz or .npy is added if missing")
      ->required();
  CLI::Option* format =
      app.add_option("-f,--format", options->format, "The number format; 'anybit formats' lists them");
  app.add_option("--set", options->set, "A parameter of the format: saturate=false (may be repeated)")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->needs(format);
  app.add_option("--granularity", options->granularity,
                 "Which values share parameters: element (none do), tensor, channel or block");
  app.add_option("--axis", options->tensor.axis, "The axis of channels or blocks; -1 is the last (default)")
      ->transform(parse_integer());
  CLI::Option* size =
      app.add_option("--block-size", options->tensor.block_size, "Values per block along the axis")
          ->transform(parse_integer());
  app.add_option("--block", options->tensor.block,
                 "Or the block's size in each of the last dimensions: 1,16 (-1: all of it)")
      ->delimiter(',')
      ->transform(parse_integer())
      ->excludes(size);
  app.add_option("--rounding", options->rounding,
                 "half_even, half_away, half_up, toward_zero, floor, stochastic")
      ->capture_default_str();
  app.add_option("--seed", options->tensor.seed, "Seed of stochastic rounding")
      ->transform(parse_integer(0, UINT64_MAX))
      ->capture_default_str();
  app.add_flag("--allow-nonfinite", options->tensor.allow_nonfinite, "Accept Inf and NaN");
  CLI::Option* dequantized = app.add_flag("--dequantized", options->dequantized,
                                          "Write the dequantized values as float32 .npy, not packed values");
  app.add_flag("--unpack", options->unpack, "Convert back: packed values to float32 .npy")
      ->excludes(format)
      ->excludes(dequantized);
  app.add_option("--threads", options->tensor.threads, "Threads to use; 0: one per core")
      ->transform(parse_integer(0, 1024))
      ->capture_default_str();
  app.add_flag("--json", options->json, "Print the result as JSON");
  return [options] { return run(*options); };
}

}  // namespace

Command convert_command() {
  return {"Convert a tensor to a number format and report the error, or convert it back", set_up_convert};
}

}  // namespace anybit::cli
