// RoiAlign: samples each region of an image to a fixed size. ONNX: RoiAlign-10, -16 (half_pixel), -22.
#include <algorithm>
#include <array>
#include <cmath>

#include "ops/check.hpp"
#include "ops/move/data_movement.hpp"
#include "ops/raise.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Values regions(const Call& call, const Dim& height, const Dim& width) {
  const auto& x = call.in(0).shape;
  const auto& boxes = call.in(1).shape;
  const Dim count = boxes && !boxes->empty() ? boxes->front() : Dim();
  return outputs_of(
      call, tensor(call.in(0).type, Shape{count, x && x->size() == 4 ? (*x)[1] : Dim(), height, width}));
}

Result<Values> infer_roi_align(const Call& call) {
  return regions(call, call.integer("output_height", 1), call.integer("output_width", 1));
}

struct Rule {
  std::int64_t height, width, sampling;
  double scale;
  bool half_pixel, average;
};

Result<Rule> rule_of(const Frame& frame) {
  const std::string_view mode = frame.text("mode", "avg");
  const std::string_view coordinates = frame.text("coordinate_transformation_mode", "half_pixel");
  if (mode != "avg" && mode != "max") return wrong(fmt::format("mode is '{}'", mode), "avg or max");
  const Rule rule{frame.integer("output_height", 1),
                  frame.integer("output_width", 1),
                  frame.integer("sampling_ratio", 0),
                  frame.real("spatial_scale", 1),
                  frame.version >= 16 && coordinates == "half_pixel",
                  mode == "avg"};
  if (rule.height < 1 || rule.width < 1 || rule.sampling < 0)
    return wrong("output_height, output_width or sampling_ratio is too small");
  return rule;
}

struct Bins {
  double start_y, start_x, bin_y, bin_x;
  std::int64_t samples_y, samples_x;
};

constexpr double kMostSamples = 1 << 14;  // samples per bin and axis

template <class T>
Result<Bins> bins_of(const Rule& rule, const T* box) {
  std::array<double, 4> corner;
  for (std::size_t i = 0; i < 4; ++i)
    corner[i] =
        static_cast<double>(static_cast<Computed<T>>(box[i])) * rule.scale - (rule.half_pixel ? 0.5 : 0.0);
  double width = corner[2] - corner[0], height = corner[3] - corner[1];
  if (!rule.half_pixel) {
    width = std::max(width, 1.0);
    height = std::max(height, 1.0);
  }
  Bins bins{corner[1],
            corner[0],
            height / static_cast<double>(rule.height),
            width / static_cast<double>(rule.width),
            rule.sampling,
            rule.sampling};
  const bool fits = std::isfinite(width) && std::isfinite(height) && bins.bin_y < kMostSamples &&
                    bins.bin_x < kMostSamples && static_cast<double>(rule.sampling) < kMostSamples;
  if (!fits)
    return wrong(fmt::format("a region of {} by {} needs too many samples", width, height), "a smaller one");
  if (rule.sampling == 0) {
    bins.samples_y = static_cast<std::int64_t>(std::max(std::ceil(bins.bin_y), 0.0));
    bins.samples_x = static_cast<std::int64_t>(std::max(std::ceil(bins.bin_x), 0.0));
  }
  return bins;
}

// The two pixels around a coordinate, and the weight of the second one.
struct Between {
  std::int64_t low, high;
  double part;
};

Between between(double at, std::int64_t size) {
  at = std::max(at, 0.0);
  const auto low = static_cast<std::int64_t>(at);
  if (low >= size - 1) return {size - 1, size - 1, 0};
  return {low, low + 1, at - static_cast<double>(low)};
}

// One output: average or maximum over the samples of the bin. Like the reference implementation, `max` takes
// the maximum of the weighted pixels, not of their sums.
template <class T>
double pooled(const Rule& rule, const Bins& bins, const T* image, std::int64_t height, std::int64_t width,
              std::int64_t y, std::int64_t x) {
  double result = 0;
  bool any = false;
  const auto sample = [&](std::int64_t i, std::int64_t count, double start, double bin, std::int64_t at) {
    return start +
           (static_cast<double>(at) + (static_cast<double>(i) + 0.5) / static_cast<double>(count)) * bin;
  };
  for (std::int64_t i = 0; i < bins.samples_y; ++i) {
    const double sy = sample(i, bins.samples_y, bins.start_y, bins.bin_y, y);
    for (std::int64_t k = 0; k < bins.samples_x; ++k) {
      const double sx = sample(k, bins.samples_x, bins.start_x, bins.bin_x, x);
      std::array<double, 4> four{};
      const bool inside =
          sy >= -1 && sy <= static_cast<double>(height) && sx >= -1 && sx <= static_cast<double>(width);
      if (inside) {
        const Between v = between(sy, height), h = between(sx, width);
        const auto pixel = [&](std::int64_t r, std::int64_t c) {
          return static_cast<double>(static_cast<Computed<T>>(image[r * width + c]));
        };
        four = {(1 - v.part) * (1 - h.part) * pixel(v.low, h.low),
                (1 - v.part) * h.part * pixel(v.low, h.high), v.part * (1 - h.part) * pixel(v.high, h.low),
                v.part * h.part * pixel(v.high, h.high)};
      }
      const double most = *std::max_element(four.begin(), four.end());
      result = rule.average ? result + four[0] + four[1] + four[2] + four[3]
               : any        ? std::max(result, most)
                            : most;
      any = true;
    }
  }
  const std::int64_t count = std::max<std::int64_t>(bins.samples_y * bins.samples_x, 1);
  return rule.average ? result / static_cast<double>(count) : result;
}

template <class T>
Result<void> align(Frame& frame, const Rule& rule, Array& out) {
  const Array& x = frame.in(0);
  const std::int64_t channels = x.dim(1), height = x.dim(2), width = x.dim(3), regions = out.dim(0);
  const auto bins = TRY(frame.scratch_of<Bins>(regions));
  for (std::int64_t r = 0; r < regions; ++r)
    bins[static_cast<std::size_t>(r)] = TRY(bins_of(rule, frame.in(1).data<T>() + 4 * r));
  const auto body = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t r = i / channels, batch = frame.in(2).data<std::int64_t>()[r];
      const T* image = x.data<T>() + (batch * channels + i % channels) * height * width;
      T* to = out.mutable_data<T>() + i * rule.height * rule.width;
      for (std::int64_t p = 0; p < rule.height * rule.width; ++p) {
        to[p] = static_cast<T>(static_cast<Computed<T>>(pooled(
            rule, bins[static_cast<std::size_t>(r)], image, height, width, p / rule.width, p % rule.width)));
      }
    }
  };
  parallel(frame, regions * channels, 50.0 * static_cast<double>(rule.height * rule.width), std::ref(body));
  return {};
}

Result<void> run(Frame& frame) {
  const Array& x = frame.in(0);
  const Array& rois = frame.in(1);
  const Array& batches = frame.in(2);
  const Rule rule = TRY(rule_of(frame));
  const bool fits = x.rank() == 4 && rois.rank() == 2 && rois.dim(1) == 4 && rois.type() == x.type() &&
                    batches.count() == rois.dim(0) && batches.type() == ElementType::int64;
  if (!fits) {
    return wrong(fmt::format("inputs are {}, {}, {}", to_string(frame.datum(0)), to_string(frame.datum(1)),
                             to_string(frame.datum(2))),
                 "an image [N, C, H, W], regions [R, 4] of the same type, int64 [R]");
  }
  const Dims dims{rois.dim(0), x.dim(1), rule.height, rule.width};
  if (x.count() == 0 && dims.count() > 0) return wrong("the image is empty");
  if (!for_real(x.type(), [](auto) {})) return wrong_type(frame, 0);
  if (!has_elements(batches)) return {};
  for (const std::int64_t batch : batches.elements<std::int64_t>()) {
    if (batch < 0 || batch >= x.dim(0)) return index_outside(batch, x.dim(0));
  }
  Array* out = TRY(frame.out(0, x.type(), dims));
  if (out->count() == 0) return {};
  Result<void> result;
  for_real(x.type(), [&]<class T>(T) { result = align<T>(frame, rule, *out); });
  return result;
}

// The default coordinates changed by half a pixel.
Result<void> raise_to_16(Raising& raising) {
  raising.set("coordinate_transformation_mode", std::string("output_half_pixel"));
  return {};
}

}  // namespace

std::span<const Descriptor> roi_align_descriptors() {
  static const Descriptor all[] = {{.name = "RoiAlign",
                                    .domain = "",
                                    .since = {10, 16, 22},
                                    .infer = infer_roi_align,
                                    .run = run,
                                    .pairwise = true,
                                    .required = 3,
                                    .raise = {{16, raise_to_16}},
                                    .traits = computes()}};
  return all;
}

}  // namespace anybit::ops
