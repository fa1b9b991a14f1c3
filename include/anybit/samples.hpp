/// @file
/// Samples: input data for calibration, comparison and inference. One sample is in memory at a time. Samples
/// may differ in shape.
///
/// @code{.cpp}
/// auto model = anybit::Model::load("model.onnx");
/// if (!model) return;
/// auto inputs = anybit::inputs_of(*model);
/// if (!inputs) return;
/// auto samples = anybit::open_samples(*inputs, {"images/"}, {.mean = {0.5f}, .std = {0.5f}});
/// if (!samples) return;
/// for (;;) {
///   auto sample = samples->next();
///   if (!sample || !*sample) break;  // an error, or the end
///   for (const auto& [input, value] : **sample) {
///     // value.tensor has the data of this input
///   }
/// }
/// @endcode
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

/// The values of one sample, by input name.
using Sample = std::map<std::string, Value>;

/// A stream of samples. Copies share the position in the stream. Not thread-safe.
class Samples {
 public:
  /// Returns the next sample, or std::nullopt at the end.
  using Next = std::function<Result<std::optional<Sample>>()>;

  /// Makes a stream from a callback. It cannot be rewound.
  ANYBIT_API static Result<Samples> from(Next next) noexcept;
  /// Makes a stream from a callback, and fits its values to the inputs where that is unambiguous: adds a
  /// missing batch dimension of 1, converts numbers to the type of the input, and splits an array [n, …] for
  /// an input [k, …] into n/k samples. An input with a dynamic batch dimension takes arrays as they are. Data
  /// returned by `next` must stay valid until it is called again.
  ANYBIT_API static Result<Samples> from(Next next, std::vector<Port> inputs) noexcept;
  /// Returns the same stream, which fails with Code::cancelled as soon as `stop` returns true.
  ANYBIT_API Result<Samples> until(std::function<bool()> stop) const noexcept;

  /// Returns the next sample, or std::nullopt at the end.
  ANYBIT_API Result<std::optional<Sample>> next() noexcept;
  /// Returns the origin of the last sample, "digits.npy[3]"; empty if unknown.
  ANYBIT_API std::string name() const noexcept;
  /// Restarts at the first sample. Code::invalid_state for a stream from a callback.
  ANYBIT_API Result<void> rewind() noexcept;
  /// Returns the number of samples, or std::nullopt if it is unknown. May open files.
  ANYBIT_API std::optional<std::int64_t> count() const noexcept;
  /// Returns what a person should know about the samples read so far: files that were skipped, and inputs
  /// whose values are all the same.
  ANYBIT_API std::vector<std::string> remarks() const noexcept;

  struct Content;

 private:
  friend struct SamplesAccess;
  explicit Samples(std::shared_ptr<Content> content) noexcept : content_(std::move(content)) {}
  std::shared_ptr<Content> content_;
};

/// Options of open_samples().
struct SampleOptions {
  std::int64_t limit = 0;  ///< maximum number of samples; 0: all
  /// For images, and for arrays of uint8 if the input takes floating-point numbers: pixels are scaled to 0 …
  /// `scale` and then normalized, (pixel − mean) / std. One value, or one per channel of the input.
  std::vector<float> mean = {}, std = {};
  /// Image size, height and width; default: that of the model's input, else unchanged.
  std::vector<std::int64_t> size = {};
  std::string layout = {};  ///< image layout, "NCHW" or "NHWC"; default: inferred from the model's input
  /// How an image gets its size: "stretch" (default), "letterbox" or "letterbox:GRAY" (the whole image, with
  /// borders of 114 or GRAY), "crop" or "crop:SHORTER" (the centre, after the shorter side is resized to that
  /// of the input or to SHORTER), "shorter" (the shorter side gets the size, the other one follows).
  std::string resize = {};
  std::string channels = {};  ///< order of the channels of images, "RGB" (default) or "BGR"
  float scale = 0;            ///< what a pixel of 255 becomes: 1 (default, also 0), 255, or another number
  /// Read the samples for inference: an input with a dynamic batch dimension takes an array as a whole,
  /// inputs without a path are omitted, and every path is for a different input.
  bool for_run = false;
};

/// Returns the inputs of a model.
ANYBIT_API Result<std::vector<Port>> inputs_of(const Model& model) noexcept;

/// Opens files as samples: .npy, .npz with arrays named like the inputs, ONNX's .pb, raw .bin with the
/// model's shape, images (PNG, JPEG, WebP, TIFF, BMP, …), and folders of these, in the order of their names.
/// "NAME=PATH" is for one input; a single sample of an input is repeated for all. A file may hold many
/// samples: an array with one dimension more than the input is split along its first dimension; an array [n,
/// …] for an input with a dynamic batch dimension gives n samples of batch 1, and one for an input [k, …]
/// gives n/k samples. See docs/calibration.md.
ANYBIT_API Result<Samples> open_samples(const std::vector<Port>& inputs,
                                        const std::vector<std::string>& paths,
                                        const SampleOptions& options = {}) noexcept;

/// Makes a stream from arrays in memory, by input name. Like files, they may hold several samples. Options
/// for image files do not apply.
ANYBIT_API Result<Samples> samples_in(const std::vector<Port>& inputs,
                                      const std::map<std::string, Array>& arrays,
                                      const SampleOptions& options = {}) noexcept;

}  // namespace anybit
