// ScatterND: the first input with some slices replaced or combined. ONNX: ScatterND-11, -13, -16 (add, mul),
// -18 (min, max).
#include "ops/gradient.hpp"
#include "ops/move/index_tuples.hpp"
#include "ops/move/scatter_reduction.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<void> run(Frame& frame) {
  const Array& data = frame.in(0);
  const Array& updates = frame.in(2);
  const Reduction reduction = TRY(reduction_of(frame));
  const IndexTuples tuples = TRY(index_tuples(frame, 0));
  const Dims& indices = frame.in(1).dims();
  bool fits =
      updates.type() == data.type() && updates.rank() == indices.size() - 1 + data.rank() - tuples.used;
  for (std::size_t i = 0; fits && i < updates.rank(); ++i) {
    fits = updates.dim(i) ==
           (i + 1 < indices.size() ? indices[i] : data.dim(i + 1 - indices.size() + tuples.used));
  }
  if (!fits) {
    return wrong(fmt::format("updates are {}", to_string(frame.datum(2))),
                 "the data's type, and a slice of the data for each tuple of indices");
  }
  Array* out = TRY(scatter_target(frame));
  return for_reduction(frame, reduction, [&]<class T>(auto combine, T) {
    const T* update = updates.data<T>();
    for (const std::int64_t place : tuples.places) {
      T* to = out->mutable_data<T>() + place;
      for (std::int64_t i = 0; i < tuples.slice; ++i) combine(to[i], update[i]);
      update += tuples.slice;
    }
  });
}

// What is overwritten has no gradient; what is added to keeps it.
Result<void> gradient(Gradient& g) {
  const std::string_view how = g.text("reduction", "none");
  if (how != "none" && how != "add")
    return wrong(fmt::format("there is no gradient for reduction '{}'", shown(how)), "none or add");
  if (g.wants(0))
    g.set(0, how == "add" ? g.dy() : g.add("ScatterND", {g.dy(), g.input(1), g.zeros_like(g.input(2))}));
  if (g.wants(2)) g.set(2, g.add("GatherND", {g.dy(), g.input(1)}));
  return {};
}

}  // namespace

std::span<const Descriptor> scatter_nd_descriptors() {
  static const Descriptor all[] = {{.name = "ScatterND",
                                    .domain = "",
                                    .since = {11, 13, 16, 18},
                                    .infer = infer_same,
                                    .run = run,
                                    .required = 3,
                                    .traits = {.role = Traits::Role::move,
                                               .data = {0, 2},
                                               .pass_through = {.since = 11},
                                               .role_of = scatter_role},
                                    .gradient = gradient}};
  return all;
}

}  // namespace anybit::ops
