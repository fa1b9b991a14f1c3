#include "ops/move/scatter_reduction.hpp"

namespace anybit::ops {

Result<Reduction> reduction_of(const Frame& frame) {
  const std::string_view name = frame.text("reduction", "none");
  if (name == "none") return Reduction::none;
  if (name == "add") return Reduction::add;
  if (name == "mul") return Reduction::mul;
  if (name == "min") return Reduction::min;
  if (name == "max") return Reduction::max;
  return wrong(fmt::format("reduction is '{}'", name), "none, add, mul, min or max");
}

Traits::Role scatter_role(const graph::Node& node) {
  const graph::Attribute* reduction = node.attribute("reduction");
  const auto* name = reduction ? std::get_if<std::string>(&reduction->value) : nullptr;
  return name && *name != "none" ? Traits::Role::none : Traits::Role::move;
}

Result<Array*> scatter_target(Frame& frame) {
  const Array& data = frame.in(0);
  // If an update is the same tensor as the data, it is read while the output is written.
  bool also_update = false;
  for (std::size_t i = 1; i < frame.input_count(); ++i) also_update |= frame.in(i).bytes() == data.bytes();
  Array* out = TRY(also_update ? frame.out(0, data.type(), data.dims())
                               : frame.out_over(0, 0, data.type(), data.dims()));
  if (out->bytes() != data.bytes()) {
    const Dims count{data.count()};
    copy_view(frame, count, data, {0, {1}}, *out, {0, {1}});
  }
  return out;
}

}  // namespace anybit::ops
