// The ways that products take: one for each SIMD target, and those of quads.hpp and wide_floats.hpp, which
// are no targets.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include "kernels/quads.hpp"
#include "kernels/wide_floats.hpp"

namespace anybit::kernels {

constexpr std::int64_t kQuads = 0, kWideFloats = -1;  // among targets

inline std::vector<std::int64_t> every_path() {
  std::vector<std::int64_t> all = hwy::SupportedAndGeneratedTargets();
  if (has_quads()) all.push_back(kQuads);
  if (has_wide_floats()) all.push_back(kWideFloats);
  return all;
}

inline std::string path_name(const ::testing::TestParamInfo<std::int64_t>& info) {
  if (info.param == kWideFloats) return "WideFloats";
  return info.param == kQuads ? "Quads" : hwy::TargetName(info.param);
}

class OnEveryPath : public ::testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    hwy::SetSupportedTargetsForTest(std::max<std::int64_t>(GetParam(), 0));
    use_quads(GetParam() == kQuads);
    use_wide_floats(GetParam() == kWideFloats);
  }
  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    use_quads(true);
    use_wide_floats(true);
  }
};

}  // namespace anybit::kernels
