// HannWindow, HammingWindow, BlackmanWindow: sums of cosines; MelWeightMatrix: triangles on the mel scale.
// ONNX: version 17 of each.
#include <array>
#include <cmath>
#include <numbers>

#include "base/math.hpp"
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer_window(const Call& call) {
  const auto& size = call.in(0).elements;
  return outputs_of(call, tensor(type_of(call.integer("output_datatype", 1)),
                                 Shape{size && size->size() == 1 ? (*size)[0] : Dim()}));
}

Result<Values> infer_mel(const Call& call) {
  return outputs_of(call, tensor(type_of(call.integer("output_datatype", 1)), unknown_shape(2)));
}

Result<ElementType> wanted_type(const Frame& frame) {
  const ElementType type = type_of(frame.integer("output_datatype", 1));
  if (!for_number(type, [](auto) {}))
    return wrong(fmt::format("output_datatype is {}", graph::name_of(type)), "a type of numbers");
  return type;
}

// a0 - a1·cos(2πn/N) + a2·cos(4πn/N)
template <int Kind>
Result<void> run_window(Frame& frame) {
  constexpr std::array<double, 3> kTerms[] = {
      {0.5, 0.5, 0.0}, {25.0 / 46, 21.0 / 46, 0.0}, {0.42, 0.5, 0.08}};
  const auto& terms = kTerms[Kind];
  const ElementType type = TRY(wanted_type(frame));
  const std::int64_t size = TRY(integer_from(frame.in(0), "the size"));
  if (size < 0) return wrong(fmt::format("the size is {}", size), "0 or more");
  Array* out = TRY(frame.out(0, type, {size}));
  const std::int64_t period = frame.flag("periodic", true) ? size : size - 1;
  for_number(type, [&]<class T>(T) {
    T* to = out->mutable_data<T>();
    for (std::int64_t i = 0; i < size; ++i) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(period);
      const double value = terms[0] - terms[1] * math::cos(angle) + terms[2] * math::cos(2 * angle);
      to[i] = static_cast<T>(static_cast<Computed<T>>(period == 0 ? 1.0 : value));
    }
  });
  return {};
}

// Spectrum bins of the corners of the triangles.
Result<std::vector<std::int64_t>> corners(std::int64_t bands, std::int64_t length, std::int64_t rate,
                                          double low, double high, std::int64_t bins) {
  const auto mel = [](double hertz) { return 2595 * math::log10(1 + hertz / 700); };
  const double step = (mel(high) - mel(low)) / static_cast<double>(bands + 2);
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < bands + 2; ++i) {
    const double at = mel(low) + static_cast<double>(i) * step;
    const double hertz = 700 * (math::pow(10.0, at / 2595) - 1);
    const double bin = std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    if (!(bin >= 0 && bin < static_cast<double>(bins)) ||
        (!result.empty() && bin < static_cast<double>(result.back()))) {
      return wrong(
          fmt::format("{} Hz is outside a spectrum of {} bins at {} samples per second", hertz, bins, rate));
    }
    result.push_back(static_cast<std::int64_t>(bin));
  }
  return result;
}

Result<void> run_mel(Frame& frame) {
  const ElementType type = TRY(wanted_type(frame));
  const std::int64_t bands = TRY(integer_from(frame.in(0), "num_mel_bins"));
  const std::int64_t length = TRY(integer_from(frame.in(1), "dft_length"));
  const std::int64_t rate = TRY(integer_from(frame.in(2), "sample_rate"));
  const double low = TRY(scalar_from(frame.in(3), "lower_edge_hertz"));
  const double high = TRY(scalar_from(frame.in(4), "upper_edge_hertz"));
  constexpr std::int64_t kMost = std::int64_t{1} << 32;
  if (bands < 0 || bands > kMost || length < 0 || length > kMost || rate < 1) {
    return wrong(fmt::format("num_mel_bins {}, dft_length {} and sample_rate {} are out of range", bands,
                             length, rate));
  }
  const std::int64_t bins = length / 2 + 1;
  Array* out = TRY(frame.out(0, type, {bins, bands}));
  const auto corner = TRY(corners(bands, length, rate, low, high, bins));
  for_number(type, [&]<class T>(T) {
    std::ranges::fill(out->elements<T>(), T());
    T* to = out->mutable_data<T>();
    for (std::int64_t band = 0; band < bands; ++band) {
      const auto i = static_cast<std::size_t>(band);
      const std::int64_t left = corner[i], peak = corner[i + 1], right = corner[i + 2];
      for (std::int64_t bin = left; bin <= peak; ++bin) {
        const double share =
            peak == left ? 1 : static_cast<double>(bin - left) / static_cast<double>(peak - left);
        to[bin * bands + band] = static_cast<T>(static_cast<Computed<T>>(share));
      }
      for (std::int64_t bin = peak; bin < right; ++bin) {
        to[bin * bands + band] = static_cast<T>(
            static_cast<Computed<T>>(static_cast<double>(right - bin) / static_cast<double>(right - peak)));
      }
    }
  });
  return {};
}

constexpr Descriptor window(std::string_view name, Run run) {
  return {.name = name, .domain = "", .since = {17}, .infer = infer_window, .run = run};
}

}  // namespace

std::span<const Descriptor> signal_window_descriptors() {
  static const Descriptor all[] = {
      window("HannWindow", run_window<0>),
      window("HammingWindow", run_window<1>),
      window("BlackmanWindow", run_window<2>),
      {.name = "MelWeightMatrix",
       .domain = "",
       .since = {17},
       .infer = infer_mel,
       .run = run_mel,
       .required = 5},
  };
  return all;
}

}  // namespace anybit::ops
