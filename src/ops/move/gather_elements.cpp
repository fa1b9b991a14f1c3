// GatherElements: picks each element by an index along one axis. ONNX: -11, -13.
#include "ops/gradient.hpp"
#include "ops/move/indexed_rows.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer_elements(const Call& call) {
  return outputs_of(call, tensor(call.in(0).type, call.in(1).shape));
}

Result<void> run(Frame& frame) {
  const Array& data = frame.in(0);
  const Array& indices = frame.in(1);
  const ElementRows rows = TRY(element_rows(frame));
  Array* out = TRY(frame.out(0, data.type(), indices.dims()));
  const auto gather = [&]<class T, class Index>() {
    const auto body = [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        const T* from = data.data<T>() + rows.start(row);
        const Index* index = indices.data<Index>() + row * rows.length;
        T* to = out->mutable_data<T>() + row * rows.length;
        for (std::int64_t i = 0; i < rows.length; ++i)
          to[i] = from[i * rows.step + place_of(index[i], rows.axis_size) * rows.axis_step];
      }
    };
    parallel(frame, rows.count, 10.0 + 2.0 * static_cast<double>(rows.length), std::ref(body));
  };
  for_index(indices.type(), [&]<class Index>(Index) {
    for_copied(data.type(), [&]<class T>(T) { gather.template operator()<T, Index>(); });
  });
  return {};
}

Result<void> gradient(Gradient& g) {
  auto attributes = attributes_of(g, {"axis"});
  attributes.push_back(graph::attribute("reduction", std::string("add")));
  g.set(0, g.add("ScatterElements", {g.zeros_like(g.input(0)), g.input(1), g.dy()}, std::move(attributes)));
  return {};
}

}  // namespace

std::span<const Descriptor> gather_elements_descriptors() {
  static const Descriptor all[] = {{.name = "GatherElements",
                                    .domain = "",
                                    .since = {11, 13},
                                    .infer = infer_elements,
                                    .run = run,
                                    .required = 2,
                                    .traits = moves({.since = 11}),
                                    .gradient = gradient}};
  return all;
}

}  // namespace anybit::ops
