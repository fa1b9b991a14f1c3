// Random format parameters, tensors and groupings from one seed.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "formats/float_bits.hpp"
#include "formats/grouping.hpp"
#include "kernels/codec/tensor_codec.hpp"

namespace anybit::kernels {

class RandomTensors {
 public:
  explicit RandomTensors(unsigned seed) : random_(seed) {}

  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool one_in(int n) { return between(1, n) == 1; }

  // Rank 0 … 8; sometimes empty, sometimes with dimensions of 1, sometimes one long row that is split among
  // threads.
  formats::Dims dims() {
    if (one_in(12)) return {between(4000, 9500)};
    if (one_in(12)) return {between(1, 3), between(4000, 5000)};
    formats::Dims result(static_cast<std::size_t>(between(0, 8)));
    const std::int64_t longest[] = {1, 90, 40, 12, 7, 5, 4, 3, 3};
    for (auto& dim : result) dim = one_in(4) ? 1 : between(1, longest[result.size()]);
    if (!result.empty() && one_in(15)) result[static_cast<std::size_t>(between(0, rank(result) - 1))] = 0;
    return result;
  }

  formats::GroupingOptions grouping(const formats::Descriptor& format, const formats::Dims& dims) {
    formats::GroupingOptions options;
    if (format.granularity == formats::Granularity::element && one_in(2)) {  // otherwise with a scale
      if (one_in(2)) options.axis = axis(dims);
      return options;
    }
    options.granularity = static_cast<formats::Granularity>(between(1, 3));
    if (*options.granularity == formats::Granularity::block) {
      if (!dims.empty() && one_in(3)) {
        options.block.resize(static_cast<std::size_t>(between(1, rank(dims))));
        for (auto& extent : options.block) extent = one_in(5) ? -1 : between(1, 9);
        return options;
      }
      options.block_size = between(1, 70);
    }
    if (one_in(4)) return options;
    options.axis = axis(dims);
    return options;
  }

  // Occasionally another value for a parameter of the format, as far as the values are compatible.
  formats::Values parameters(const formats::Descriptor& format) {
    formats::Values values;
    for (const formats::Parameter& p : format.parameters) {
      if (!one_in(3)) continue;
      formats::Values tried = values;
      if (std::holds_alternative<bool>(p.preset)) {
        tried[std::string(p.name)] = one_in(2);
      } else if (const auto* whole = std::get_if<std::int64_t>(&p.preset)) {
        tried[std::string(p.name)] = std::clamp<std::int64_t>(
            *whole + between(-3, 3), static_cast<std::int64_t>(std::max(p.low, -1000.0)),
            static_cast<std::int64_t>(std::min(p.high, 1000.0)));
      } else if (!p.choices.empty()) {
        const auto pick =
            static_cast<std::size_t>(between(0, static_cast<std::int64_t>(p.choices.size()) - 1));
        tried[std::string(p.name)] = std::string(p.choices[pick]);
      }
      const auto complete = formats::complete(format, tried);
      if (complete.ok() && format.make(*complete).ok()) values = tried;
    }
    return values;
  }

  // Mostly values of one magnitude; zeros of both signs; sometimes all magnitudes, zero blocks, or Inf and
  // NaN.
  std::vector<float> values(std::int64_t count, bool nonfinite) {
    std::normal_distribution<float> normal(0, std::ldexp(1.0f, static_cast<int>(between(-20, 20))));
    const bool wild = one_in(4), sparse = one_in(4);
    std::vector<float> x(static_cast<std::size_t>(count));
    for (auto& v : x) {
      v = normal(random_);
      if (wild) v = std::ldexp(v, static_cast<int>(between(-120, 100)));
      if (sparse && !one_in(20)) v = 0;
      if (one_in(30)) v = one_in(2) ? 0.0f : -0.0f;
      if (nonfinite && one_in(40))
        v = one_in(3) ? formats::kNan : one_in(2) ? formats::kInfinity : -formats::kInfinity;
      if (!nonfinite && !formats::is_finite(v)) v = 1;
    }
    return x;
  }

  TensorOptions options(const formats::Descriptor& format, const formats::Dims& dims) {
    TensorOptions made;
    made.parameters = parameters(format);
    made.grouping = grouping(format, dims);
    made.rounding = static_cast<formats::Rounding>(one_in(2) ? 0 : between(0, 5));
    made.seed = random_();
    return made;
  }

 private:
  static std::int64_t rank(const formats::Dims& dims) { return static_cast<std::int64_t>(dims.size()); }
  std::int64_t axis(const formats::Dims& dims) {
    return dims.empty() ? between(-1, 0) : between(-rank(dims), rank(dims) - 1);
  }

  std::mt19937 random_;
};

}  // namespace anybit::kernels
