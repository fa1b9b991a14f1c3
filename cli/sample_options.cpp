#include "sample_options.hpp"

#include <fmt/format.h>

#include "numbers.hpp"
#include "terminal.hpp"

namespace anybit::cli {

namespace {

constexpr const char* kGroup = "Samples";

}  // namespace

std::vector<CLI::Option*> add_sample_settings(CLI::App& app, SampleOptions& options) {
  std::vector<CLI::Option*> added;
  added.push_back(app.add_option("--samples", options.limit, "Use at most this many")
                      ->transform(parse_integer(1))
                      ->type_name("N"));
  added.push_back(
      app.add_option("--mean", options.mean,
                     "Mean of pixels, which are 0 to 1 (or to --scale): one number, or one per channel")
          ->delimiter(',')
          ->expected(1, 4)
          ->type_name("R,G,B"));
  added.push_back(
      app.add_option("--std", options.std, "Standard deviation of image pixels: (pixel - mean) / std")
          ->delimiter(',')
          ->expected(1, 4)
          ->type_name("R,G,B"));
  added.push_back(app.add_option("--scale", options.scale,
                                 "What a pixel of 255 becomes, before --mean and --std: 1 (default) or 255. "
                                 "Arrays of uint8 count as pixels then")
                      ->check(number_within(1e-6, 1e6)));
  const auto set_size = [&options](const std::string& text) {  // two integers, see image_size()
    const std::size_t cross = text.find('x');
    options.size = {std::stoll(text.substr(0, cross)), std::stoll(text.substr(cross + 1))};
  };
  added.push_back(app.add_option_function<std::string>(
                         "--size", set_size, "Resize images to this height and width: 224 or 480x640")
                      ->transform(image_size())
                      ->type_name("HxW"));
  added.push_back(
      app.add_option("--resize", options.resize,
                     "How images get their size: stretch (default); letterbox, with gray borders; "
                     "crop, the centre, crop:256 after the shorter side is resized to 256; shorter, "
                     "the shorter side gets it"));
  added.push_back(
      app.add_option("--channels", options.channels, "Order of the channels of images: RGB or BGR"));
  added.push_back(
      app.add_option("--layout", options.layout, "Image layout of the input: NCHW or NHWC [from its shape]"));
  for (CLI::Option* one : added) one->group(kGroup);
  return added;
}

void add_sample_options(CLI::App& app, const std::string& names, SampleArguments& arguments) {
  CLI::Option* paths =
      app.add_option(
             names, arguments.paths,
             "Files or folders: .npy, .npz, .pb, raw .bin, images; NAME=PATH for one of several inputs")
          ->type_name("PATH...")
          ->group(kGroup);
  for (CLI::Option* one : add_sample_settings(app, arguments.options)) one->needs(paths);
}

void print_remarks(const Samples& samples) {
  for (const std::string& one : samples.remarks()) fmt::print(stderr, "anybit: {}\n", printable(one));
}

Result<Samples> open_samples(const Model& model, const SampleArguments& arguments) {
  const auto inputs = inputs_of(model);
  if (!inputs.ok()) return inputs.error();
  return open_samples(*inputs, arguments.paths, arguments.options);
}

}  // namespace anybit::cli
