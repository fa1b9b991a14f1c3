#include "sample_options.hpp"

#include "numbers.hpp"

namespace anybit::cli {

namespace {

constexpr const char* kGroup = "Samples";

}  // namespace

std::vector<CLI::Option*> add_sample_settings(CLI::App& app, SampleOptions& options) {
  std::vector<CLI::Option*> added;
  added.push_back(app.add_option("--samples", options.limit, "Take no more than this many")
                      ->transform(whole_number(1))
                      ->type_name("N"));
  added.push_back(app.add_option("--mean", options.mean,
                                 "Of pictures, whose pixels are 0 to 1: one number, or one for each channel")
                      ->delimiter(',')
                      ->expected(1, 4)
                      ->type_name("R,G,B"));
  added.push_back(
      app.add_option("--std", options.std, "What pixels are divided by once the mean is taken off")
          ->delimiter(',')
          ->expected(1, 4)
          ->type_name("R,G,B"));
  added.push_back(app.add_option("--size", options.size, "Stretch pictures to this height and width")
                      ->transform(whole_number())
                      ->delimiter(',')
                      ->expected(1, 2)
                      ->type_name("H,W"));
  added.push_back(app.add_option("--layout", options.layout,
                                 "How the model takes pictures: NCHW or NHWC; else its input tells"));
  for (CLI::Option* one : added) one->group(kGroup);
  return added;
}

void add_sample_options(CLI::App& app, const std::string& flag, SampleArguments& arguments) {
  CLI::Option* paths =
      app.add_option(
             flag, arguments.paths,
             "Files or folders: .npy, .npz, .pb, raw .bin, pictures; NAME=PATH for one input of several")
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
