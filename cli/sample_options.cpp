#include "sample_options.hpp"

namespace anybit::cli {

void add_sample_options(CLI::App& app, const std::string& flag, SampleArguments& arguments) {
  constexpr const char* kGroup = "Samples";
  app.add_option(flag, arguments.paths,
                 "Files or folders: .npy, .npz, .pb, raw .bin, pictures; NAME=PATH for one input of several")
      ->type_name("PATH...")
      ->group(kGroup);
  app.add_option("--samples", arguments.options.limit, "Take no more than this many")
      ->check(CLI::PositiveNumber)
      ->type_name("N")
      ->group(kGroup);
  app.add_option("--mean", arguments.options.mean,
                 "Of pictures, whose pixels are 0 to 1: one number, or one for each channel")
      ->delimiter(',')
      ->expected(1, 4)
      ->type_name("R,G,B")
      ->group(kGroup);
  app.add_option("--std", arguments.options.std, "What pixels are divided by once the mean is taken off")
      ->delimiter(',')
      ->expected(1, 4)
      ->type_name("R,G,B")
      ->group(kGroup);
  app.add_option("--size", arguments.options.size, "Stretch pictures to this height and width")
      ->delimiter(',')
      ->expected(1, 2)
      ->type_name("H,W")
      ->group(kGroup);
  app.add_option("--layout", arguments.options.layout,
                 "How the model takes pictures: NCHW or NHWC; else its input tells")
      ->group(kGroup);
}

Result<Samples> open_samples(const Model& model, const SampleArguments& arguments) {
  const auto inputs = inputs_of(model);
  if (!inputs.ok()) return inputs.error();
  return open_samples(*inputs, arguments.paths, arguments.options);
}

}  // namespace anybit::cli
