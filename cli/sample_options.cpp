#include "sample_options.hpp"

#include "numbers.hpp"

namespace anybit::cli {

namespace {

constexpr const char* kGroup = "Samples";

}  // namespace

std::vector<CLI::Option*> add_sample_settings(CLI::App& app, SampleOptions& options) {
  std::vector<CLI::Option*> added;
  added.push_back(app.add_option("--samples", options.limit, "Use at most this many")
                      ->transform(parse_integer(1))
                      ->type_name("N"));
  added.push_back(app.add_option("--mean", options.mean,
                                 "Mean of image pixels, which are 0 to 1: one number, or one per channel")
                      ->delimiter(',')
                      ->expected(1, 4)
                      ->type_name("R,G,B"));
  added.push_back(
      app.add_option("--std", options.std, "Standard deviation of image pixels: (pixel - mean) / std")
          ->delimiter(',')
          ->expected(1, 4)
          ->type_name("R,G,B"));
  added.push_back(app.add_option("--size", options.size, "Resize images to this height and width")
                      ->transform(parse_integer())
                      ->delimiter(',')
                      ->expected(1, 2)
                      ->type_name("H,W"));
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

Result<Samples> open_samples(const Model& model, const SampleArguments& arguments) {
  const auto inputs = inputs_of(model);
  if (!inputs.ok()) return inputs.error();
  return open_samples(*inputs, arguments.paths, arguments.options);
}

}  // namespace anybit::cli
