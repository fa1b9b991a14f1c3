// Runs tests once with every instruction set that the CPU has.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/instructions.hpp"

namespace anybit::kernels {

inline std::vector<Instructions> every_path() {
  std::vector<Instructions> all;
  for (const Instructions set : kInstructions) {
    if (usable(set)) all.push_back(set);
  }
  return all;
}

inline std::string path_name(const ::testing::TestParamInfo<Instructions>& info) {
  return std::string(name_of(info.param));
}

class OnEveryPath : public ::testing::TestWithParam<Instructions> {
 protected:
  void SetUp() override { use_at_most(GetParam()); }
  void TearDown() override { use_at_most(kAllInstructions); }
};

}  // namespace anybit::kernels
