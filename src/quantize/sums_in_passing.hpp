// Gathers the sums of the layers' outputs while calibration runs the float model, for refinements that
// compare them (Descriptor::compares_sums): of the samples that such a refinement will run.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "calibrate/gather.hpp"
#include "quantize/wanted_refinements.hpp"
#include "refine/layer_sums.hpp"

namespace anybit::quantizing {

class SumsInPassing {
 public:
  // Of the layers of the refinements that compare sums; empty if there are none.
  static SumsInPassing of(const graph::Model& model, std::span<const WantedRefinement> refinements,
                          const runtime::ExecutorOptions& with);

  // What calibration watches beside; null if nothing is to be gathered. Valid until this object moves.
  calibrate::Beside* beside();
  // For every sample, before it runs. `chosen`: its number among the chosen ones; empty if it is not one.
  void read(std::optional<std::uint64_t> number, const ChosenSamples& chosen);
  // The chosen samples; their sums are those of of_chosen(), in the same order.
  std::vector<Sample> take(ChosenSamples& chosen);
  // None if they were not gathered.
  FloatSums of_chosen() const;

 private:
  struct Guarded {
    std::mutex mutex;
    std::int64_t samples = 0;                       // that were read
    std::map<std::int64_t, std::uint64_t> numbers;  // by index of a chosen sample that has not run yet
    std::map<std::uint64_t, std::shared_ptr<LayerSums>> sums;
  };

  std::shared_ptr<const MeasuredLayers> layers_;
  std::shared_ptr<Guarded> all_ = std::make_shared<Guarded>();
  calibrate::Beside beside_;
  std::vector<std::uint64_t> taken_;  // the numbers of the chosen samples
};

}  // namespace anybit::quantizing
