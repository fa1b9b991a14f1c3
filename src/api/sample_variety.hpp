// Watches samples for inputs whose values are all the same: zeros by mistake, or a constant.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "anybit/samples.hpp"

namespace anybit {

class SampleVariety {
 public:
  // Costs nothing for an input once two of its values differ.
  void see(const Sample& sample);
  std::vector<std::string> remarks() const;

 private:
  struct Input {
    bool varies = false;
    std::int64_t samples = 0;
    std::string type;
    std::vector<std::byte> value;  // the first element
    double number = 0;             // the same as a number
  };
  std::map<std::string, Input> inputs_;
};

}  // namespace anybit
