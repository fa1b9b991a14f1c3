// Samples of a model's inputs, for calibration, comparison and runs: one is in memory at a time, there may be
// any number of them, and their shapes may differ.
//
//   auto inputs = anybit::inputs_of(model);
//   auto samples = anybit::open_samples(*inputs, {"images/"}, {.mean = {0.5f}, .std = {0.5f}});
//   while (auto sample = samples->next().value()) use(*sample);
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "anybit/executor.hpp"
#include "anybit/export.hpp"
#include "anybit/model.hpp"
#include "anybit/result.hpp"

namespace anybit {

using Sample = std::map<std::string, Value>;  // by input

class Samples {
 public:
  using Next = std::function<Result<std::optional<Sample>>()>;

  // Samples that the caller makes: `next` gives nothing when there are no more. They can be gone through
  // once.
  ANYBIT_API static Result<Samples> from(Next next) noexcept;
  // The same, made to fit the inputs as far as that is beyond doubt: a missing batch of one is added, numbers
  // get the input's type, and an array [n, …] for an input [k, …] is cut into n/k samples. An input [batch,
  // …] takes arrays as they come. What `next` gives need not outlive the next call of it.
  ANYBIT_API static Result<Samples> from(Next next, std::vector<Port> inputs) noexcept;
  // The same samples until `stop` says so; then Code::cancelled.
  ANYBIT_API Result<Samples> until(std::function<bool()> stop) const noexcept;

  // Nothing when there are no more. Not to be called by two threads at once.
  ANYBIT_API Result<std::optional<Sample>> next() noexcept;
  // Where the last one came from: "digits.npy[3]"; empty if nobody knows.
  ANYBIT_API std::string name() const noexcept;
  // From the first one again.
  ANYBIT_API Result<void> rewind() noexcept;
  // How many there are in all; files are opened to find out. Nothing if it cannot be told.
  ANYBIT_API std::optional<std::int64_t> count() const noexcept;

  struct Content;

 private:
  friend struct SamplesAccess;
  explicit Samples(std::shared_ptr<Content> content) noexcept : content_(std::move(content)) {}
  std::shared_ptr<Content> content_;
};

struct SampleOptions {
  std::int64_t limit = 0;  // no more samples than this; 0: all
  // Pictures. Pixels are 0 to 1; then (pixel − mean) / std, one number or one for each channel.
  std::vector<float> mean = {}, std = {};
  std::vector<std::int64_t> size = {};  // height, width; else as the model's input, or as they are
  std::string layout = {};              // "NCHW" or "NHWC"; else it follows from the model's input
  // As a run takes them: an input [batch, …] takes an array [n, …] as it is, inputs that no path is for are
  // left out, and paths are for different inputs.
  bool for_run = false;
};

// The inputs of a model.
ANYBIT_API Result<std::vector<Port>> inputs_of(const Model& model) noexcept;

// From files: .npy, .npz with the inputs' names, ONNX's .pb, raw .bin with the model's shape, pictures (PNG,
// JPEG, BMP, PNM), and folders of these, in the order of their names. "NAME=PATH" is for one input; an input
// that has a single sample keeps it for all. A file may hold many samples: an array with one dimension more
// than the input has one for each index of the first; an array [n, …] for an input [batch, …] has n samples
// of batch 1, and one for an input [k, …] has n/k samples. docs/calibration.md tells more.
ANYBIT_API Result<Samples> open_samples(const std::vector<Port>& inputs,
                                        const std::vector<std::string>& paths,
                                        const SampleOptions& options = {}) noexcept;

// From arrays in memory, by input: they hold one sample or many, as files do. No more than `limit`; 0: all.
ANYBIT_API Result<Samples> samples_in(const std::vector<Port>& inputs,
                                      const std::map<std::string, Array>& arrays,
                                      std::int64_t limit = 0) noexcept;

}  // namespace anybit
