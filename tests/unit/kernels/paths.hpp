// The ways that integer products take: one for each SIMD target, and that of quads.hpp, which is no target.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include "kernels/quads.hpp"

namespace anybit::kernels {

constexpr std::int64_t kQuads = 0;  // among targets

inline std::vector<std::int64_t> every_path() {
  std::vector<std::int64_t> all = hwy::SupportedAndGeneratedTargets();
  if (has_quads()) all.push_back(kQuads);
  return all;
}

inline std::string path_name(const ::testing::TestParamInfo<std::int64_t>& info) {
  return info.param == kQuads ? "Quads" : hwy::TargetName(info.param);
}

class OnEveryPath : public ::testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    hwy::SetSupportedTargetsForTest(GetParam());
    use_quads(GetParam() == kQuads);
  }
  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    use_quads(true);
  }
};

}  // namespace anybit::kernels
