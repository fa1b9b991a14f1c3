// PAD, PADV2, MIRROR_PAD: ONNX's Pad, which lists all pads before the values and then all after them.
#include <algorithm>

#include "base/error.hpp"
#include "base/try.hpp"
#include "tflite/table.hpp"

namespace anybit::tflite {
namespace {

using graph::attribute;

// Pads as [axis][before, after], in the order of a layout.
Result<Dims> pads_of(OperatorReader& here, Layout layout) {
  const Dims stored = TRY(here.integers(1));
  const std::int64_t rank = here.in(0).rank();
  if (static_cast<std::int64_t>(stored.size()) != 2 * rank)
    return here.invalid(fmt::format("it has {} pads for {} dimensions", stored.size(), rank));
  Dims pads(stored.size());
  for (std::int64_t i = 0; i < rank; ++i) {
    const auto to = static_cast<std::size_t>(TRY(here.axis(0, i, layout)));
    const auto from = static_cast<std::size_t>(2 * i);
    if (stored[from] < 0 || stored[from + 1] < 0) return here.invalid("a pad is negative");
    pads[to] = stored[from];
    pads[to + static_cast<std::size_t>(rank)] = stored[from + 1];
  }
  return pads;
}

Result<void> read_pad(OperatorReader& here) {
  std::vector<std::string> inputs;
  Layout layout = Layout::as_stored;
  if (here.constant(1)) {
    layout = here.common_layout();
    const Dims pads = TRY(pads_of(here, layout));
    inputs = {TRY(here.value(0, layout)), here.graph().integers(pads)};
  } else {
    const std::string columns =
        here.emit("Transpose", {TRY(here.indices(1))}, {attribute("perm", Dims{1, 0})});
    inputs = {TRY(here.value(0)), here.emit("Reshape", {columns, here.graph().integers({-1})})};
  }
  if (here.has(2)) {
    std::string value = TRY(here.value(2));
    if (here.in(2).rank() > 0) value = here.emit("Squeeze", {value});
    inputs.push_back(value);
  }
  return here.define(here.emit("Pad", std::move(inputs)), layout);
}

// The elements of an axis with its mirrored pads; SYMMETRIC repeats the border.
Dims mirrored(std::int64_t size, std::int64_t before, std::int64_t after, std::int64_t skipped) {
  Dims indices;
  for (std::int64_t i = before; i-- > 0;) indices.push_back(i + skipped);
  for (std::int64_t i = 0; i < size; ++i) indices.push_back(i);
  for (std::int64_t i = 0; i < after; ++i) indices.push_back(size - 1 - skipped - i);
  return indices;
}

Result<void> read_mirror_pad(OperatorReader& here) {
  const bool reflect = here.options<wire::MirrorPadOptions>().mode() == wire::MirrorPadMode::REFLECT;
  const Layout layout = here.common_layout();
  const Dims pads = TRY(pads_of(here, layout));
  std::string x = TRY(here.value(0, layout));
  if (reflect) {
    x = here.emit("Pad", {x, here.graph().integers(pads)}, {attribute("mode", std::string("reflect"))});
    return here.define(x, layout);
  }
  const auto rank = static_cast<std::size_t>(here.in(0).rank());
  for (std::size_t i = 0; i < rank; ++i) {
    const auto axis = static_cast<std::size_t>(TRY(here.axis(0, static_cast<std::int64_t>(i), layout)));
    const std::int64_t size = here.in(0).dims[i], before = pads[axis], after = pads[axis + rank];
    if (before == 0 && after == 0) continue;
    if (size < 0) return here.unsupported(fmt::format("the size of dimension {} is unknown", i));
    if (std::max(before, after) > size) return here.invalid("a pad is larger than its dimension");
    TRY(here.graph().file().take_bytes(8 * (size + before + after)));
    x = here.emit("Gather", {x, here.graph().integers(mirrored(size, before, after, 0))},
                  {attribute("axis", static_cast<std::int64_t>(axis))});
  }
  return here.define(x, layout);
}

}  // namespace

std::span<const Descriptor> pad_descriptors() {
  using wire::BuiltinOperator;
  static const Descriptor all[] = {
      {.name = "PAD", .code = BuiltinOperator::PAD, .inputs = 2, .read = read_pad},
      {.name = "PADV2", .code = BuiltinOperator::PADV2, .inputs = 3, .read = read_pad},
      {.name = "MIRROR_PAD", .code = BuiltinOperator::MIRROR_PAD, .inputs = 2, .read = read_mirror_pad},
  };
  return all;
}

}  // namespace anybit::tflite
