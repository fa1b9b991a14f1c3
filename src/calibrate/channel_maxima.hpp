// Collector of the largest magnitude per input channel of a layer, as SmoothQuant (Xiao et al., ICML 2023)
// and AWQ (Lin et al., MLSys 2024) use it to move scales between activations and weights.
#pragma once

#include "calibrate/view.hpp"

namespace anybit::calibrate {

class ChannelMaxima final : public CollectorOf<ChannelMaxima> {
 public:
  explicit ChannelMaxima(View view = {}) : view_(std::move(view)) {}

  const std::vector<float>& maxima() const { return maxima_; }  // of the finite values; empty: none were seen
  Result<void> merge(const ChannelMaxima& other);

  Result<void> see(const Look& look, Workbench& bench, std::mutex& guard) override;
  void write(JsonMembers& to) const override;
  Result<void> read(const JsonTree& from, const Extent& extent) override;
  Numbers numbers() const override;  // [channels]
  friend bool operator==(const ChannelMaxima& a, const ChannelMaxima& b) { return a.maxima_ == b.maxima_; }

 private:
  View view_;
  std::vector<float> maxima_;
};

}  // namespace anybit::calibrate
