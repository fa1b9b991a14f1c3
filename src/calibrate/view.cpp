#include "calibrate/view.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "base/try.hpp"
#include "graph/index.hpp"
#include "graph/node.hpp"
#include "ops/conv/window.hpp"
#include "ops/node_attributes.hpp"

namespace anybit::calibrate {
namespace {

std::int64_t groups_of(const View& view) {
  return view.convolution ? graph::integer(*view.convolution, "group", 1) : 1;
}

// Resolves a negative axis; -1 if there is no such axis.
std::int64_t axis_in(const View& view, std::size_t rank) {
  const std::int64_t axis = view.axis < 0 ? view.axis + static_cast<std::int64_t>(rank) : view.axis;
  return axis >= 0 && axis < static_cast<std::int64_t>(rank) ? axis : -1;
}

Result<kernels::Window> window_in(const View& view, const ops::Dims& dims) {
  return ops::window_over(ops::NodeAttributes(*view.convolution), view.kernel, dims.span().subspan(2));
}

// Copies the im2col patch of one group for one output position.
void fill_patch(const kernels::Window& window, const float* channels, std::int64_t count,
                const std::int64_t (&output)[3], float* to) {
  std::fill_n(to, count * kernels::kernel_size(window), 0.0f);
  const kernels::Range d = kernels::taps_inside(window[0], output[0]),
                       h = kernels::taps_inside(window[1], output[1]),
                       w = kernels::taps_inside(window[2], output[2]);
  const auto at = [&](std::size_t axis, std::int64_t tap) {
    return kernels::start_of(window[axis], output[axis]) + tap * window[axis].dilation;
  };
  for (std::int64_t c = 0; c < count; ++c, channels += kernels::input_size(window)) {
    float* const of_channel = to + c * kernels::kernel_size(window);
    for (std::int64_t i = d.first; i < d.last; ++i) {
      for (std::int64_t j = h.first; j < h.last; ++j) {
        const float* const line = channels + (at(0, i) * window[1].input + at(1, j)) * window[2].input;
        float* const taps = of_channel + (i * window[1].kernel + j) * window[2].kernel;
        for (std::int64_t k = w.first; k < w.last; ++k) taps[k] = line[at(2, k)];
      }
    }
  }
}

Result<void> each_patch(const View& view, const ops::Dims& dims, const float* x, std::vector<float>& row,
                        const FunctionRef<std::int64_t, const float*>& see) {
  const kernels::Window window = TRY(window_in(view, dims));
  const std::int64_t groups = groups_of(view), channels = dims[1] / groups;
  row.resize(static_cast<std::size_t>(channels * kernels::kernel_size(window)));
  for (std::int64_t group = 0; group < groups; ++group) {
    for (std::int64_t n = 0; n < dims[0]; ++n) {
      const float* const from = x + (n * groups + group) * channels * kernels::input_size(window);
      std::int64_t o[3];
      for (o[0] = 0; o[0] < window[0].output; ++o[0]) {
        for (o[1] = 0; o[1] < window[1].output; ++o[1]) {
          for (o[2] = 0; o[2] < window[2].output; ++o[2]) {
            fill_patch(window, from, channels, o, row.data());
            see(group, row.data());
          }
        }
      }
    }
  }
  return {};
}

}  // namespace

std::string View::text() const {
  if (!convolution) return fmt::format("axis {}", axis);
  std::string text = fmt::format("patches {}", fmt::join(kernel, "x"));
  const auto add = [&](const char* name, std::int64_t usual) {
    const auto given = graph::integers(*convolution, name);
    if (given && std::ranges::any_of(*given, [&](std::int64_t one) { return one != usual; }))
      text += fmt::format(" {} {}", name, fmt::join(*given, " "));
  };
  add("strides", 1);
  add("dilations", 1);
  const std::string_view padding = graph::text(*convolution, "auto_pad", "NOTSET");
  if (padding == "NOTSET") add("pads", 0);
  if (padding != "NOTSET") text += fmt::format(" {}", padding);
  if (groups_of(*this) != 1) text += fmt::format(" group {}", groups_of(*this));
  return text;
}

Result<Rows> rows_of(const View& view, const ops::Dims& dims) {
  Rows rows;
  const std::int64_t axis = axis_in(view, dims.size());
  if (axis < 0 || dims.count() == 0) return rows;
  if (!view.convolution) {
    rows.length = dims[static_cast<std::size_t>(axis)];
    rows.count = dims.count() / rows.length;
    return rows;
  }
  const std::int64_t groups = groups_of(view);
  if (dims.size() < 3 || groups < 1 || dims[1] % groups != 0) return rows;
  const kernels::Window window = TRY(window_in(view, dims));
  rows.groups = groups;
  rows.length = dims[1] / groups * kernels::kernel_size(window);
  rows.count = dims[0] * kernels::output_size(window);
  return rows;
}

Result<void> each_row(const View& view, const Look& look, Workbench& bench,
                      const FunctionRef<std::int64_t, const float*>& see) {
  const ops::Dims& dims = look.array.dims();
  const Rows rows = TRY(rows_of(view, dims));
  if (rows.length == 0) return {};
  const float* const x = look.plain(bench);
  if (view.convolution) return each_patch(view, dims, x, bench.row, see);
  std::int64_t inner = 1;
  for (auto i = static_cast<std::size_t>(axis_in(view, dims.size())) + 1; i < dims.size(); ++i)
    inner *= dims[i];
  bench.row.resize(static_cast<std::size_t>(rows.length));
  for (std::int64_t row = 0; row < rows.count; ++row) {
    const float* from = x + row / inner * rows.length * inner + row % inner;
    if (inner > 1) {
      for (float& one : bench.row) {
        one = *from;
        from += inner;
      }
    }
    see(0, inner > 1 ? bench.row.data() : from);
  }
  return {};
}

std::optional<LayerInput> layer_input(const graph::Node& node, int weight,
                                      std::span<const std::int64_t> weight_dims) {
  const bool second = weight == 1;
  const auto along = [&](std::int64_t axis) {
    return LayerInput{graph::input(node, second ? 0 : 1), {.axis = axis}, {.axis = axis}};
  };
  if (graph::is(node, "ConvTranspose") && second) return along(1);
  if (graph::is(node, "Conv") && second && weight_dims.size() >= 3) {
    LayerInput found = along(1);
    graph::Node attributes = node;  // attributes for the window, without names
    attributes.inputs.clear();
    attributes.outputs.clear();
    found.rows.convolution = std::make_shared<const graph::Node>(std::move(attributes));
    found.rows.kernel.assign(weight_dims.begin() + 2, weight_dims.end());
    return found;
  }
  if (weight > 1) return std::nullopt;
  if (graph::is(node, "MatMul")) return along(second ? -1 : -2);
  if (!graph::is(node, "Gemm")) return std::nullopt;
  return along((graph::integer(node, second ? "transA" : "transB", 0) != 0) == second ? -2 : -1);
}

std::vector<LayerInput> layer_inputs(const graph::Graph& graph) {
  std::map<std::string, std::span<const std::int64_t>, std::less<>> constants;
  std::vector<LayerInput> found;
  const auto walk = [&](const auto& self, const graph::Graph& one) -> void {
    for (const graph::Tensor& tensor : one.initializers) constants.emplace(tensor.name.str(), tensor.dims);
    for (const graph::Node& node : one.nodes) {
      const graph::Attribute* value = graph::is(node, "Constant") ? node.attribute("value") : nullptr;
      if (const auto* tensor = value ? std::get_if<graph::Tensor>(&value->value) : nullptr)
        constants.emplace(node.outputs[0], tensor->dims);
      for (int i = 0; i < 2 && i < static_cast<int>(node.inputs.size()); ++i) {
        const auto weight = constants.find(graph::input(node, static_cast<std::size_t>(i)));
        if (weight == constants.end()) continue;
        auto layer = layer_input(node, i, weight->second);
        if (layer && constants.count(layer->value) == 0) found.push_back(*std::move(layer));
      }
      graph::each_graph(node, [&](const graph::Graph& inner) { self(self, inner); });
    }
  };
  walk(walk, graph);
  return found;
}

}  // namespace anybit::calibrate
