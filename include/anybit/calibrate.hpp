// Calibration: runs a model on samples and finds what range each of its values has.
//
//   auto ranges = anybit::calibrate_model(model, samples);
//   auto saved = ranges->save("ranges.json");
//   auto range = ranges->range("conv1_output", {.observer = "percentile"});
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

// A way to choose a range.
struct Observer {
  std::string name, summary;
  bool needs_bins = false;
};
ANYBIT_API std::vector<Observer> observers();

// What can be gathered of values.
struct CollectorInfo {
  std::string name, summary;
  bool of_layers = false;  // only if it is asked for, of what layers with constant weights take
};
ANYBIT_API std::vector<CollectorInfo> collectors();

struct RangeOptions {
  std::string observer = "minmax";
  // The grid that values will be on: so many levels; symmetric ones reach as far below zero as above.
  int levels = 256;
  bool symmetric = false;
  double percentile = 99.999;  // of values that the observer percentile keeps
};

// What was found. Copies share it.
class Ranges {
 public:
  struct Tensor {
    std::string name;
    std::int64_t samples = 0;  // in which it was seen; 0: it is in a branch that none entered
    std::int64_t count = 0, zeros = 0, nans = 0, infinities = 0;
    float min = 0, max = 0;                   // of the finite values
    double average_min = 0, average_max = 0;  // fading averages of each sample's
    bool has_bins = false;
    std::string first_bad;  // the first sample with NaN or infinity; empty: none
  };
  struct Range {
    float low = 0, high = 0;
  };

  // A file that is damaged is refused.
  ANYBIT_API static Result<Ranges> load(const std::string& path) noexcept;
  // The file appears whole or not at all.
  ANYBIT_API Result<void> save(const std::string& path) const noexcept;
  // The other's samples follow these. Both must belong to the same model.
  ANYBIT_API Result<Ranges> merged(const Ranges& other) const noexcept;
  // An error if they belong to another model, or to what this one was before it changed.
  ANYBIT_API Result<void> check_belongs(const Model& model) const noexcept;

  ANYBIT_API std::int64_t samples() const noexcept;
  ANYBIT_API const std::string& model_hash() const noexcept;
  ANYBIT_API const std::vector<Tensor>& tensors() const noexcept;  // by name
  // Of the finite values seen; empty if the ranges have no bins.
  ANYBIT_API Result<Histogram> histogram(const std::string& tensor) const noexcept;
  ANYBIT_API Result<Range> range(const std::string& tensor, const RangeOptions& options = {}) const noexcept;

  // What collectors found of what layers take. The view tells how layers take it: "axis -1", "patches 3x3 …".
  struct Collected {
    std::string tensor, collector, view;
    std::vector<std::int64_t> dims = {};
    std::vector<double> values = {};
  };
  // All that there is, without dims and values.
  ANYBIT_API Result<std::vector<Collected>> collected() const noexcept;
  // One of them. The view may be empty if there is but one.
  ANYBIT_API Result<Collected> collected(const std::string& tensor, const std::string& collector,
                                         const std::string& view = {}) const noexcept;

  struct Content;

 private:
  friend struct RangesAccess;
  explicit Ranges(std::shared_ptr<const Content> content) noexcept : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
};

struct CalibrateOptions {
  int threads = 0;              // 0: one for each core; each runs a sample of its own
  std::int64_t max_memory = 0;  // bytes for values and prepared weights; 0: no limit
  bool bins = true;             // observers that clip need them; without, calibration is a little faster
  double momentum = 0.01;       // of moving averages
  bool allow_nan = false;       // NaN and infinity are counted and left out; otherwise they are an error
  bool reproducible = false;    // the same ranges on every x86-64 CPU: slower float kernels
  std::function<void(std::int64_t done)> progress = {};  // told how many samples are done
  // Further collectors, by name: "second-moment", "channel-maxima".
  std::vector<std::string> collect = {};
};

// All real values of the model: its inputs, and what its nodes make, in graphs inside nodes, too.
ANYBIT_API Result<Ranges> calibrate_model(const Model& model, Samples& samples,
                                          const CalibrateOptions& options = {}) noexcept;

// SHA-256, in hexadecimal digits, of the model's bytes with all data inside: what ranges belong to.
ANYBIT_API Result<std::string> content_hash(const Model& model) noexcept;

}  // namespace anybit
