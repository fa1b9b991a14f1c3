// GatherND: slices by index tuples. ONNX: GatherND-11, -12 (batch_dims), -13.
#include "ops/gradient.hpp"
#include "ops/move/index_tuples.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// The size of the indices' last axis is the number of data axes that they address, after `batch_dims` shared
// ones.
Result<Values> infer_nd(const Call& call) {
  const auto& data = call.in(0).shape;
  const auto& indices = call.in(1).shape;
  if (!data || !indices || indices->empty() || !indices->back().known()) {
    return outputs_of(call, tensor(call.in(0).type, std::nullopt));
  }
  const Dim used = indices->back() + Dim(call.integer("batch_dims", 0));
  if (!used.known() || *used.size < 0 || *used.size > static_cast<std::int64_t>(data->size())) {
    return wrong(fmt::format("indices of shape [{}] address more axes than [{}] has", to_string(*indices),
                             to_string(*data)));
  }
  Shape shape(indices->begin(), indices->end() - 1);
  shape.insert(shape.end(), data->begin() + static_cast<std::ptrdiff_t>(*used.size), data->end());
  return outputs_of(call, tensor(call.in(0).type, std::move(shape)));
}

Result<void> run(Frame& frame) {
  const Array& data = frame.in(0);
  const IndexTuples tuples = TRY(index_tuples(frame, frame.integer("batch_dims", 0)));
  const Dims& indices = frame.in(1).dims();
  const std::size_t rank = indices.size() - 1 + data.rank() - tuples.used;
  if (rank > Dims::kCapacity) return wrong(fmt::format("the output has rank {}", rank), "a smaller one");
  Dims dims;
  for (std::size_t i = 0; i + 1 < indices.size(); ++i) dims.push_back(indices[i]);
  for (std::size_t i = tuples.used; i < data.rank(); ++i) dims.push_back(data.dim(i));
  Array* out = TRY(frame.out(0, data.type(), dims));
  for_copied(data.type(), [&]<class T>(T) {
    const auto body = [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        std::copy_n(data.data<T>() + tuples.places[static_cast<std::size_t>(i)], tuples.slice,
                    out->mutable_data<T>() + i * tuples.slice);
      }
    };
    parallel(frame, std::ssize(tuples.places), 3.0 + 0.2 * static_cast<double>(tuples.slice) * sizeof(T),
             std::ref(body));
  });
  return {};
}

Result<void> gradient(Gradient& g) {
  if (g.integer("batch_dims", 0) != 0)
    return wrong("there is no gradient for batch_dims other than 0", "indices that include the batch");
  g.set(0, g.add("ScatterND", {g.zeros_like(g.input(0)), g.input(1), g.dy()},
                 {graph::attribute("reduction", std::string("add"))}));
  return {};
}

}  // namespace

std::span<const Descriptor> gather_nd_descriptors() {
  static const Descriptor all[] = {{.name = "GatherND",
                                    .domain = "",
                                    .since = {11, 12, 13},
                                    .infer = infer_nd,
                                    .run = run,
                                    .required = 2,
                                    .traits = moves({.since = 11}),
                                    .gradient = gradient}};
  return all;
}

}  // namespace anybit::ops
