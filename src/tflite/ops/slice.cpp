// SLICE, STRIDED_SLICE, REVERSE_V2: ONNX's Slice.
#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "base/try.hpp"
#include "tflite/table.hpp"

namespace anybit::tflite {
namespace {

using graph::attribute;

constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

struct Ranges {
  Dims starts, ends, axes, steps;
  void add(std::int64_t axis, std::int64_t start, std::int64_t end, std::int64_t step) {
    if (start == 0 && end == kEnd && step == 1) return;
    starts.push_back(start), ends.push_back(end), axes.push_back(axis), steps.push_back(step);
  }
};

std::string sliced(OperatorReader& here, const std::string& x, const Ranges& ranges) {
  if (ranges.axes.empty()) return x;
  GraphReader& graph = here.graph();
  return here.emit("Slice", {x, graph.integers(ranges.starts), graph.integers(ranges.ends),
                             graph.integers(ranges.axes), graph.integers(ranges.steps)});
}

// A size of -1 is all that is left.
Result<void> read_slice(OperatorReader& here) {
  if (!here.constant(1) || !here.constant(2)) {
    const std::string begin = TRY(here.indices(1)), size = TRY(here.indices(2));
    const std::string left = here.emit("Equal", {size, here.graph().integer(-1)});
    const std::string end =
        here.emit("Where", {left, here.graph().integer(kEnd), here.emit("Add", {begin, size})});
    return here.define(here.emit("Slice", {TRY(here.value(0)), begin, end}));
  }
  const Dims begin = TRY(here.integers(1)), size = TRY(here.integers(2));
  if (begin.size() != here.in(0).dims.size() || size.size() != begin.size())
    return here.invalid(fmt::format("it has {} begins and {} sizes for {} dimensions", begin.size(),
                                    size.size(), here.in(0).rank()));
  const Layout layout = here.common_layout();
  Ranges ranges;
  for (std::size_t i = 0; i < begin.size(); ++i) {
    if (begin[i] < 0 || size[i] < -1) return here.invalid("a begin or a size is negative");
    const bool all = size[i] < 0 || (begin[i] == 0 && size[i] == here.in(0).dims[i]);
    ranges.add(TRY(here.axis(0, static_cast<std::int64_t>(i), layout)), begin[i],
               all ? kEnd : begin[i] + size[i], 1);
  }
  return here.define(sliced(here, TRY(here.value(0, layout)), ranges), layout);
}

// What the masks of STRIDED_SLICE say about each of its entries.
struct Masks {
  explicit Masks(const wire::StridedSliceOptions& options)
      : begin(options.begin_mask()),
        end(options.end_mask()),
        ellipsis(options.ellipsis_mask()),
        added(options.new_axis_mask()),
        dropped(options.shrink_axis_mask()) {}
  static bool has(std::int32_t mask, std::size_t i) { return i < 31 && ((mask >> i) & 1) != 0; }
  std::int32_t begin, end, ellipsis, added, dropped;
};

// The result of reading the entries: ranges of the input, axes that are dropped, and axes that are added to
// the result.
struct StridedSlice {
  Ranges ranges;
  Dims dropped, added;
};

Result<StridedSlice> strided_slice(OperatorReader& here, const Masks& masks, bool offset) {
  const Dims begin = TRY(here.integers(1)), end = TRY(here.integers(2)), step = TRY(here.integers(3));
  if (begin.size() != end.size() || begin.size() != step.size() || begin.size() > 31)
    return here.invalid(
        fmt::format("it has {} begins, {} ends and {} strides", begin.size(), end.size(), step.size()));
  const auto rank = static_cast<std::int64_t>(here.in(0).dims.size());
  StridedSlice result;
  std::int64_t axis = 0, place = 0;  // of the input, of the result
  for (std::size_t i = 0; i < begin.size(); ++i) {
    if (Masks::has(masks.ellipsis, i)) {
      std::int64_t later = 0;
      for (std::size_t k = i + 1; k < begin.size(); ++k) later += Masks::has(masks.added, k) ? 0 : 1;
      const std::int64_t covered = std::max<std::int64_t>(rank - axis - later, 0);
      axis += covered, place += covered;
      continue;
    }
    if (Masks::has(masks.added, i)) {
      result.added.push_back(place++);
      continue;
    }
    if (axis >= rank) return here.invalid("it has more entries than the input has dimensions");
    if (step[i] == 0) return here.invalid("a stride is 0");
    if (Masks::has(masks.dropped, i)) {
      const std::int64_t at = Masks::has(masks.begin, i) ? 0 : begin[i];
      result.ranges.add(axis, at, at == -1 ? kEnd : at + 1, 1);
      result.dropped.push_back(axis++);
      continue;
    }
    const std::int64_t first = step[i] > 0 ? 0 : kEnd, last = step[i] > 0 ? kEnd : -kEnd;
    const std::int64_t from = Masks::has(masks.begin, i) ? first : begin[i];
    const std::int64_t to = Masks::has(masks.end, i) ? last : end[i] + (offset ? begin[i] : 0);
    result.ranges.add(axis, from, to, step[i]);
    ++axis, ++place;
  }
  return result;
}

Result<void> read_strided_slice(OperatorReader& here) {
  const auto& options = here.options<wire::StridedSliceOptions>();
  if (!here.in(0).has_rank) return here.unsupported("the rank of its input is unknown");
  StridedSlice slice = TRY(strided_slice(here, Masks(options), options.offset()));
  const bool same_axes = slice.dropped.empty() && slice.added.empty();
  const Layout layout = same_axes ? here.common_layout() : Layout::as_stored;
  for (std::int64_t& axis : slice.ranges.axes) axis = TRY(here.axis(0, axis, layout));
  std::string x = sliced(here, TRY(here.value(0, layout)), slice.ranges);
  if (!slice.dropped.empty()) x = here.emit("Squeeze", {x, here.graph().integers(slice.dropped)});
  if (!slice.added.empty()) x = here.emit("Unsqueeze", {x, here.graph().integers(slice.added)});
  return here.define(x, layout);
}

Result<void> read_reverse(OperatorReader& here) {
  const Layout layout = here.common_layout();
  Ranges ranges;
  for (const std::int64_t axis : TRY(here.integers(1)))
    ranges.add(TRY(here.axis(0, axis, layout)), -1, -kEnd, -1);
  return here.define(sliced(here, TRY(here.value(0, layout)), ranges), layout);
}

}  // namespace

std::span<const Descriptor> slice_descriptors() {
  using wire::BuiltinOperator;
  static const Descriptor all[] = {
      {.name = "SLICE", .code = BuiltinOperator::SLICE, .inputs = 3, .read = read_slice},
      {.name = "STRIDED_SLICE",
       .code = BuiltinOperator::STRIDED_SLICE,
       .inputs = 4,
       .read = read_strided_slice},
      {.name = "REVERSE_V2", .code = BuiltinOperator::REVERSE_V2, .inputs = 2, .read = read_reverse},
  };
  return all;
}

}  // namespace anybit::tflite
