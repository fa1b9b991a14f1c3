// A naive reference of TensorCodec on top of the scalar codec: the group of each element is computed from its
// index.
#pragma once

#include <vector>

#include "kernels/codec/tensor_codec.hpp"

namespace anybit::kernels {

class NaiveTensor {
 public:
  NaiveTensor(const TensorCodec& tensor, formats::Rounding rounding, std::uint64_t seed)
      : codec_(tensor.codec()),
        grouping_(tensor.grouping()),
        rounding_(codec_.rounding(rounding)),
        seed_(seed) {
    const auto count = static_cast<std::size_t>(grouping_.count());
    stride_ = static_cast<std::size_t>(codec_.words(grouping_.size()));
    groups_.resize(static_cast<std::size_t>(grouping_.groups()));
    for (std::size_t i = 0; i < count; ++i) groups_[group_of(index_of(i))].push_back(i);
  }

  TensorCodec::Parameters choose(const std::vector<float>& x) const {
    TensorCodec::Parameters all(groups_.size() * stride_, 0);
    if (all.empty()) return all;
    std::vector<std::uint32_t> first(stride_, 0);
    codec_.choose_for_tensor(x, first);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const std::span<std::uint32_t> words = std::span(all).subspan(g * stride_, stride_);
      std::copy(first.begin(), first.end(), words.begin());
      codec_.choose(gather(x, g), words);
    }
    codec_.settle(all, static_cast<std::int64_t>(stride_));
    return all;
  }

  std::vector<formats::Code16> encode(const std::vector<float>& x, const TensorCodec::Parameters& p) const {
    std::vector<formats::Code16> all(x.size());
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      std::vector<formats::Code16> codes(groups_[g].size());
      const auto noise = noise_of(g);
      codec_.encode(gather(x, g), words(p, g), draw(noise), codes.data());
      scatter(codes, g, all);
    }
    return all;
  }

  std::vector<float> decode(const std::vector<formats::Code16>& codes,
                            const TensorCodec::Parameters& p) const {
    std::vector<float> all(codes.size());
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      std::vector<float> values(groups_[g].size());
      codec_.decode(gather(codes, g), words(p, g), values.data());
      scatter(values, g, all);
    }
    return all;
  }

  std::vector<float> quantize(const std::vector<float>& x, const TensorCodec::Parameters& p) const {
    std::vector<float> all(x.size());
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      std::vector<float> values(groups_[g].size());
      const auto noise = noise_of(g);
      codec_.quantize(gather(x, g), words(p, g), draw(noise), values.data());
      scatter(values, g, all);
    }
    return all;
  }

  // Bit by bit, or digit by digit: rows along the pack axis, which comes last; each row starts on a byte.
  std::vector<std::uint8_t> pack(const std::vector<formats::Code16>& codes) const {
    if (codes.empty()) return {};
    const auto axis = static_cast<std::size_t>(grouping_.pack_axis);
    const std::int64_t length = grouping_.dims.empty() ? 1 : grouping_.dims[axis];
    const bool fives = codec_.packing() == formats::Packing::fives;
    const std::int64_t row_bytes = fives ? (length + 4) / 5 : (length * codec_.bits() + 7) / 8;
    std::vector<std::uint8_t> packed(static_cast<std::size_t>(grouping_.count() / length * row_bytes), 0);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const formats::Dims at = index_of(i);
      std::int64_t row = 0;
      for (std::size_t d = 0; d < at.size(); ++d) {
        if (d != axis) row = row * grouping_.dims[d] + at[d];
      }
      if (fives) {
        constexpr int kWeights[] = {1, 3, 9, 27, 81}, kDigits[] = {0, 1, 0, 2};
        const std::int64_t place = at.empty() ? 0 : at[axis];
        packed[static_cast<std::size_t>(row * row_bytes + place / 5)] +=
            static_cast<std::uint8_t>(kWeights[place % 5] * kDigits[codes[i]]);
        continue;
      }
      for (int b = 0; b < codec_.bits(); ++b) {
        const std::int64_t bit = (at.empty() ? 0 : at[axis]) * codec_.bits() + b;
        const auto byte = static_cast<std::size_t>(row * row_bytes + bit / 8);
        packed[byte] = static_cast<std::uint8_t>(packed[byte] | (codes[i] >> b & 1) << (bit % 8));
      }
    }
    return packed;
  }

 private:
  formats::Dims index_of(std::size_t element) const {
    formats::Dims at(grouping_.dims.size());
    auto rest = static_cast<std::int64_t>(element);
    for (std::size_t d = at.size(); d-- > 0; rest /= grouping_.dims[d]) at[d] = rest % grouping_.dims[d];
    return at;
  }
  std::size_t group_of(const formats::Dims& at) const {
    std::int64_t group = 0;
    for (std::size_t d = 0; d < at.size(); ++d) group = group * grouping_.grid[d] + at[d] / grouping_.box[d];
    return static_cast<std::size_t>(group);
  }
  template <class T>
  std::vector<T> gather(const std::vector<T>& all, std::size_t group) const {
    std::vector<T> mine;
    for (const std::size_t i : groups_[group]) mine.push_back(all[i]);
    return mine;
  }
  template <class T>
  void scatter(const std::vector<T>& mine, std::size_t group, std::vector<T>& all) const {
    for (std::size_t i = 0; i < mine.size(); ++i) all[groups_[group][i]] = mine[i];
  }
  formats::ConstWords words(const TensorCodec::Parameters& all, std::size_t group) const {
    return std::span(all).subspan(group * stride_, stride_);
  }
  std::vector<std::uint32_t> noise_of(std::size_t group) const {
    std::vector<std::uint32_t> noise;
    for (const std::size_t i : groups_[group]) noise.push_back(formats::noise_at(seed_, i));
    return noise;
  }
  formats::Draw draw(const std::vector<std::uint32_t>& noise) const {
    return {rounding_, rounding_ == formats::Rounding::stochastic ? noise.data() : nullptr};
  }

  const formats::Codec& codec_;
  const formats::Grouping& grouping_;
  formats::Rounding rounding_;
  std::uint64_t seed_;
  std::size_t stride_ = 0;
  std::vector<std::vector<std::size_t>> groups_;
};

}  // namespace anybit::kernels
