// NonMaxSuppression: the best boxes of each class, without boxes that overlap a better one. ONNX:
// NonMaxSuppression-10, -11.
#include <algorithm>
#include <vector>

#include "ops/check.hpp"
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer_suppression(const Call& call) {
  return outputs_of(call, tensor(ElementType::int64, Shape{Dim(), Dim(3)}));
}

struct Box {
  float low_y, low_x, high_y, high_x;
  float area() const { return (high_y - low_y) * (high_x - low_x); }
};

// From two corners in any order, or from centre and size.
Box box_of(const float* four, bool centre) {
  if (centre) {
    const float half_width = four[2] / 2, half_height = four[3] / 2;
    return {four[1] - half_height, four[0] - half_width, four[1] + half_height, four[0] + half_width};
  }
  return {std::min(four[0], four[2]), std::min(four[1], four[3]), std::max(four[0], four[2]),
          std::max(four[1], four[3])};
}

bool overlap(const Box& a, const Box& b, float threshold) {
  const float height = std::min(a.high_y, b.high_y) - std::max(a.low_y, b.low_y);
  const float width = std::min(a.high_x, b.high_x) - std::max(a.low_x, b.low_x);
  if (!(height > 0 && width > 0) || a.area() <= 0 || b.area() <= 0) return false;
  const float shared = height * width;
  return shared / (a.area() + b.area() - shared) > threshold;
}

struct Limits {
  std::int64_t boxes = 0;
  float overlap = 0;
  std::optional<float> score;
};

Result<Limits> limits_of(const Frame& frame) {
  Limits limits;
  if (frame.has(2)) limits.boxes = TRY(integer_from(frame.in(2), "max_output_boxes_per_class"));
  if (frame.has(3)) limits.overlap = static_cast<float>(TRY(scalar_from(frame.in(3), "iou_threshold")));
  if (frame.has(4)) limits.score = static_cast<float>(TRY(scalar_from(frame.in(4), "score_threshold")));
  if (!(limits.overlap >= 0 && limits.overlap <= 1))
    return wrong(fmt::format("iou_threshold is {}", limits.overlap), "from 0 to 1");
  return limits;
}

// The selected boxes, best first; equal scores keep their order.
void choose(std::span<const Box> boxes, const float* scores, const Limits& limits,
            std::vector<std::int64_t>& order, std::vector<std::int64_t>& kept) {
  order.clear();
  kept.clear();
  for (std::int64_t i = 0; i < std::ssize(boxes); ++i) {
    if (scores[i] == scores[i] && (!limits.score || scores[i] > *limits.score)) order.push_back(i);
  }
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) { return scores[a] > scores[b]; });
  for (const std::int64_t candidate : order) {
    if (std::ssize(kept) >= limits.boxes) return;
    const auto covers = [&](std::int64_t better) {
      return overlap(boxes[static_cast<std::size_t>(better)], boxes[static_cast<std::size_t>(candidate)],
                     limits.overlap);
    };
    if (std::ranges::none_of(kept, covers)) kept.push_back(candidate);
  }
}

Result<void> run(Frame& frame) {
  const Array& boxes = frame.in(0);
  const Array& scores = frame.in(1);
  if (boxes.type() != ElementType::float32) return wrong_type(frame, 0);
  if (scores.type() != ElementType::float32) return wrong_type(frame, 1);
  const bool fits = boxes.rank() == 3 && scores.rank() == 3 && boxes.dim(2) == 4 &&
                    boxes.dim(0) == scores.dim(0) && boxes.dim(1) == scores.dim(2);
  if (!fits) {
    return wrong(fmt::format("boxes are {}, scores {}", to_string(boxes), to_string(scores)),
                 "[batch, boxes, 4] and [batch, classes, boxes]");
  }
  const Limits limits = TRY(limits_of(frame));
  if (only_checks(frame)) return {};
  const std::int64_t classes = scores.dim(1), count = boxes.dim(1);
  const bool centre = frame.flag("center_point_box");
  std::vector<Box> sorted(static_cast<std::size_t>(count));
  std::vector<std::int64_t> order, kept, found;
  for (std::int64_t batch = 0; batch < boxes.dim(0); ++batch) {
    for (std::int64_t i = 0; i < count; ++i)
      sorted[static_cast<std::size_t>(i)] = box_of(boxes.data<float>() + (batch * count + i) * 4, centre);
    for (std::int64_t k = 0; k < classes; ++k) {
      choose(sorted, scores.data<float>() + (batch * classes + k) * count, limits, order, kept);
      for (const std::int64_t box : kept) found.insert(found.end(), {batch, k, box});
    }
  }
  Array* out = TRY(frame.out(0, ElementType::int64, {std::ssize(found) / 3, 3}));
  std::ranges::copy(found, out->mutable_data<std::int64_t>());
  return {};
}

}  // namespace

std::span<const Descriptor> non_max_suppression_descriptors() {
  static const Descriptor all[] = {{.name = "NonMaxSuppression",
                                    .domain = "",
                                    .since = {10, 11},
                                    .infer = infer_suppression,
                                    .run = run,
                                    .pairwise = true,
                                    .required = 2}};
  return all;
}

}  // namespace anybit::ops
