// The collector of the largest magnitude in each channel of what a layer takes: what moving scales between
// activations and weights goes by (SmoothQuant, Xiao et al., ICML 2023; AWQ, Lin et al., MLSys 2024).
#pragma once

#include "calibrate/view.hpp"

namespace anybit::calibrate {

class ChannelMaxima final : public CollectorOf<ChannelMaxima> {
 public:
  explicit ChannelMaxima(View view = {}) : view_(std::move(view)) {}

  const std::vector<float>& maxima() const { return maxima_; }  // of the finite values; none: none was seen
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
