/// @file
/// Calibration: runs a model on samples and gathers statistics of its activations, from which observers
/// choose quantization ranges.
///
/// @code{.cpp}
/// #include <cstdio>
///
/// auto model = anybit::Model::load("model.onnx");
/// if (!model) return;
/// auto inputs = anybit::inputs_of(*model);
/// if (!inputs) return;
/// auto samples = anybit::open_samples(*inputs, {"images/"});
/// if (!samples) return;
/// auto ranges = anybit::calibrate_model(*model, *samples);
/// if (!ranges) return;
/// auto saved = ranges->save("ranges.json");
/// auto range = ranges->range("conv1_output", {.observer = "percentile"});
/// if (range) std::printf("%g to %g\n", range->low, range->high);
/// @endcode
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "anybit/export.hpp"
#include "anybit/histogram.hpp"
#include "anybit/model.hpp"
#include "anybit/result.hpp"
#include "anybit/samples.hpp"

namespace anybit {

/// An observer: an algorithm that chooses a range from statistics.
struct Observer {
  std::string name, summary;
  bool needs_bins = false;  ///< it needs histograms, see CalibrateOptions::bins
};
/// Returns all observers, by name.
ANYBIT_API std::vector<Observer> observers();

/// A collector: statistics that calibration can gather.
struct CollectorInfo {
  std::string name, summary;
  /// Of the inputs of layers with constant weights; only on request (CalibrateOptions::collect).
  bool of_layers = false;
};
/// Returns all collectors, by name.
ANYBIT_API std::vector<CollectorInfo> collectors();

/// Options of Ranges::range().
struct RangeOptions {
  std::string observer = "minmax";  ///< by name, see observers()
  int levels = 256;                 ///< number of quantization levels
  bool symmetric = false;           ///< symmetric quantization: the range is centered at zero
  double percentile = 99.999;       ///< percentage of the values that observer "percentile" keeps
};

/// Statistics of the activations of a model. Immutable: copies are cheap and may be used by different
/// threads.
class Ranges {
 public:
  /// The statistics of one value.
  struct Tensor {
    std::string name;
    std::int64_t samples = 0;  ///< samples in which it was computed; 0: in a branch that no sample took
    std::int64_t count = 0, zeros = 0, nans = 0, infinities = 0;  ///< numbers of elements
    float min = 0, max = 0;                                       ///< of the finite elements
    double average_min = 0, average_max = 0;  ///< moving averages of the minima and maxima of the samples
    bool has_bins = false;                    ///< a histogram was gathered
    std::string first_bad;                    ///< the first sample with NaN or infinity; empty: none
  };
  /// A range of values.
  struct Range {
    float low = 0, high = 0;
  };

  /// Loads statistics. A damaged file is Code::malformed.
  ANYBIT_API static Result<Ranges> load(const std::string& path) noexcept;
  /// Saves the statistics, atomically.
  ANYBIT_API Result<void> save(const std::string& path) const noexcept;
  /// Returns the combined statistics of both, as if the samples of `other` had followed. An error if they are
  /// of different models.
  ANYBIT_API Result<Ranges> merged(const Ranges& other) const noexcept;
  /// Returns an error if the statistics are of another model, or of an earlier version of this one.
  ANYBIT_API Result<void> check_belongs(const Model& model) const noexcept;

  /// Returns the number of samples.
  ANYBIT_API std::int64_t samples() const noexcept;
  /// Returns the content_hash() of the model.
  ANYBIT_API const std::string& model_hash() const noexcept;
  /// Returns the statistics of all values, sorted by name.
  ANYBIT_API const std::vector<Tensor>& tensors() const noexcept;
  /// Returns the histogram of the finite elements of a value; empty if none was gathered.
  ANYBIT_API Result<Histogram> histogram(const std::string& tensor) const noexcept;
  /// Returns the range that an observer chooses for a value. An error if there is no such value or observer,
  /// or if the observer needs a histogram and there is none.
  ANYBIT_API Result<Range> range(const std::string& tensor, const RangeOptions& options = {}) const noexcept;

  /// Statistics of a layer's input, gathered by a collector. The view is how the layer reads its input: "axis
  /// -1" for rows along an axis, "patches 3x3 …" for the patches of a convolution.
  struct Collected {
    std::string tensor, collector, view;
    std::vector<std::int64_t> dims = {};
    std::vector<double> values = {};
  };
  /// Returns all such statistics, without dims and values.
  ANYBIT_API Result<std::vector<Collected>> collected() const noexcept;
  /// Returns one of them. The view may be empty if there is only one.
  ANYBIT_API Result<Collected> collected(const std::string& tensor, const std::string& collector,
                                         const std::string& view = {}) const noexcept;

  struct Content;

 private:
  friend struct RangesAccess;
  explicit Ranges(std::shared_ptr<const Content> content) noexcept : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
};

/// Options of calibrate_model().
struct CalibrateOptions {
  int threads = 0;              ///< 0: one per core; every thread runs its own sample
  std::int64_t max_memory = 0;  ///< bytes of activations and prepared weights; 0: no limit
  bool bins = true;             ///< gather histograms, which observers that clip need
  double momentum = 0.01;       ///< of the moving averages
  bool allow_nan = false;  ///< count NaN and infinity and ignore them; otherwise they are Code::invalid_data
  bool reproducible = false;  ///< bit-identical results on every x86-64 CPU; slower float kernels
  std::function<void(std::int64_t done)> progress = {};  ///< called with the number of finished samples
  /// Additional collectors, by name: "second-moment", "channel-maxima".
  std::vector<std::string> collect = {};
};

/// Runs the model on all samples and gathers statistics of all float values: the model's inputs and the
/// outputs of all nodes, including those in subgraphs.
ANYBIT_API Result<Ranges> calibrate_model(const Model& model, Samples& samples,
                                          const CalibrateOptions& options = {}) noexcept;

/// Returns the SHA-256 of the serialized model with all data embedded, in hexadecimal. Ranges are bound to
/// it.
ANYBIT_API Result<std::string> content_hash(const Model& model) noexcept;

}  // namespace anybit
