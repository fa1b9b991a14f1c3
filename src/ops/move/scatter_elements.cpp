// Scatter and ScatterElements: the first input with some elements replaced or combined. ONNX: Scatter-9, -11;
// ScatterElements-11, -13, -16 (add, mul), -18 (min, max).
#include "ops/gradient.hpp"
#include "ops/move/indexed_rows.hpp"
#include "ops/move/scatter_reduction.hpp"
#include "ops/raise.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<void> run(Frame& frame) {
  const Array& indices = frame.in(1);
  const Array& updates = frame.in(2);
  const Reduction reduction = TRY(reduction_of(frame));
  const ElementRows rows = TRY(element_rows(frame));
  if (updates.type() != frame.in(0).type() || updates.dims() != indices.dims()) {
    return wrong(fmt::format("updates are {}, indices {}", to_string(frame.datum(2)), to_string(indices)),
                 "the data's type and the indices' shape");
  }
  Array* out = TRY(scatter_target(frame));
  // Sequential: of several updates of one element, the last one wins.
  return for_reduction(frame, reduction, [&]<class T>(auto combine, T) {
    for_index(indices.type(), [&]<class Index>(Index) {
      for (std::int64_t row = 0; row < rows.count; ++row) {
        T* to = out->mutable_data<T>() + rows.start(row);
        const Index* index = indices.data<Index>() + row * rows.length;
        const T* update = updates.data<T>() + row * rows.length;
        for (std::int64_t i = 0; i < rows.length; ++i)
          combine(to[i * rows.step + place_of(index[i], rows.axis_size) * rows.axis_step], update[i]);
      }
    });
  });
}

Result<void> raise_to_11(Raising& raising) {
  raising.edited.op_type = "ScatterElements";
  return {};
}

// What is overwritten has no gradient; what is added to keeps it.
Result<void> gradient(Gradient& g) {
  const std::string_view how = g.text("reduction", "none");
  if (how != "none" && how != "add")
    return wrong(fmt::format("there is no gradient for reduction '{}'", shown(how)), "none or add");
  if (g.wants(0))
    g.set(0, how == "add" ? g.dy()
                          : g.add("ScatterElements", {g.dy(), g.input(1), g.zeros_like(g.input(2))},
                                  attributes_of(g, {"axis"})));
  if (g.wants(2)) g.set(2, g.add("GatherElements", {g.dy(), g.input(1)}, attributes_of(g, {"axis"})));
  return {};
}

}  // namespace

std::span<const Descriptor> scatter_elements_descriptors() {
  static const Descriptor all[] = {
      {.name = "Scatter",
       .domain = "",
       .since = {9, 11},
       .infer = infer_same,
       .run = run,
       .required = 3,
       .raise = {{11, raise_to_11}},
       .traits = {.role = Traits::Role::move,
                  .data = {0, 2},
                  .pass_through = {.since = 9},
                  .role_of = scatter_role}},
      {.name = "ScatterElements",
       .domain = "",
       .since = {11, 13, 16, 18},
       .infer = infer_same,
       .run = run,
       .required = 3,
       .traits = {.role = Traits::Role::move,
                  .data = {0, 2},
                  .pass_through = {.since = 11},
                  .role_of = scatter_role},
       .gradient = gradient},
  };
  return all;
}

}  // namespace anybit::ops
