#include "tflite/graph_reader.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_set>

#include "base/error.hpp"
#include "base/try.hpp"
#include "graph/constant.hpp"
#include "tflite/constants.hpp"

namespace anybit::tflite {
namespace {

using graph::ElementType;
using graph::Tensor;

bool is_identity(const Dims& order) { return std::ranges::is_sorted(order); }

std::int64_t place_in(const Dims& order, std::int64_t axis) {
  return std::ranges::find(order, axis) - order.begin();
}

template <class T>
Tensor integer_tensor(ElementType type, Dims dims, const std::vector<std::int64_t>& values) {
  std::vector<T> elements(values.begin(), values.end());
  return graph::make_tensor({}, type, std::move(dims), std::move(elements));
}

// Zero points; 4-bit types are per tensor or have two in a byte.
Tensor zero_point_tensor(ElementType type, const Dims& dims, const std::vector<std::int64_t>& values) {
  if (type == ElementType::int16) return integer_tensor<std::int16_t>(type, dims, values);
  if (type == ElementType::uint16) return integer_tensor<std::uint16_t>(type, dims, values);
  if (graph::find(type)->bits == 8) return integer_tensor<std::uint8_t>(type, dims, values);
  std::vector<std::int64_t> bytes((values.size() + 1) / 2, 0);
  for (std::size_t i = 0; i < values.size(); ++i) bytes[i / 2] |= (values[i] & 15) << (i % 2 == 0 ? 0 : 4);
  return integer_tensor<std::uint8_t>(type, dims, bytes);
}

// The dimensions as a constant of Reshape; empty if more than one is unknown.
std::optional<Dims> as_reshape(const Dims& dims) {
  if (std::ranges::count(dims, -1) > 1 || std::ranges::count(dims, 0) > 0) return std::nullopt;
  return dims;
}

// Whether putting dimensions into another order moves no element: the order of those over 1 stays.
bool moves_nothing(const Dims& dims, const Dims& order) {
  Dims kept;
  for (const std::int64_t axis : order) {
    if (dims[static_cast<std::size_t>(axis)] != 1) kept.push_back(axis);
  }
  return is_identity(kept);
}

Dims reordered(const Dims& dims, const Dims& order) {
  Dims result;
  for (const std::int64_t axis : order) result.push_back(dims[static_cast<std::size_t>(axis)]);
  return result;
}

}  // namespace

Dims to_channels_first(std::int64_t rank) {
  Dims order{0, rank - 1};
  for (std::int64_t i = 1; i + 1 < rank; ++i) order.push_back(i);
  return order;
}

Dims to_channels_last(std::int64_t rank) {
  Dims order{0};
  for (std::int64_t i = 2; i < rank; ++i) order.push_back(i);
  order.push_back(1);
  return order;
}

Result<void> GraphReader::open() {
  source_ = TRY(file_.subgraph(index_));
  const auto* tensors = source_->tensors();
  const std::uint32_t count = tensors ? tensors->size() : 0;
  for (std::uint32_t t = 0; t < count; ++t) {
    TRY(file_.take_records(1));
    auto read = read_tensor(file_, *tensors->Get(t));
    if (!read.ok()) {
      const auto* name = tensors->Get(t)->name();
      return std::move(read).error().within(
          fmt::format("subgraph {}: tensor {} '{}'", index_, t, shown(name ? name->string_view() : "")));
    }
    tensors_.push_back(std::move(read).value());
    const std::string& name = tensors_.back().name;
    tensor_names_.push_back(names_.fresh(name.empty() ? fmt::format("tensor_{}", t) : name));
  }
  values_.resize(count);
  for (std::uint32_t t = 0; t < count; ++t) values_[t].defined = tensors_[t].constant;
  return {};
}

Error GraphReader::error(std::int64_t tensor, Error error) const {
  return std::move(error).within(fmt::format("tensor {} '{}'", tensor, shown(info(tensor).name)));
}

Result<void> GraphReader::check_index(std::int64_t tensor) const {
  if (tensor >= 0 && tensor < static_cast<std::int64_t>(tensors_.size())) return {};
  return invalid_model(fmt::format("tensor {}", tensor), "it does not exist",
                       fmt::format("subgraph {} has {} tensors", index_, tensors_.size()));
}

Result<void> GraphReader::check_defined(std::int64_t tensor) {
  if (value(tensor).defined) return {};
  // Empty constants have no buffer.
  if (std::ranges::count(info(tensor).dims, 0) > 0 && !info(tensor).variable) {
    tensors_[static_cast<std::size_t>(tensor)].constant = value(tensor).defined = true;
    return {};
  }
  return error(tensor, invalid_model({}, "it is used before an operator computes it"));
}

Result<std::string> GraphReader::constant_value(std::int64_t tensor, const Dims& dims, const Dims& order) {
  const TensorInfo& from = info(tensor);
  auto dense = dense_data(file_, from);
  if (!dense.ok()) return error(tensor, std::move(dense).error());
  Bytes data = std::move(dense).value();
  if (!is_identity(order)) data = TRY(permuted(file_, data, from.type, dims, order));
  Tensor made;
  made.element = static_cast<std::int32_t>(from.type);
  made.dims = reordered(dims, order);
  made.data = std::move(data);
  const std::string& name = tensor_names_[static_cast<std::size_t>(tensor)];
  if (value(tensor).name_used) return add_initializer(std::move(made), name);
  value(tensor).name_used = true;
  made.name = graph::Text(name);
  graph_.initializers.push_back(std::move(made));
  return name;
}

std::string GraphReader::in_layout(std::int64_t tensor, const std::string& from, Layout to) {
  const std::string& name = tensor_names_[static_cast<std::size_t>(tensor)];
  const bool first = to == Layout::channels_first;
  Dims dims = info(tensor).dims;
  const std::int64_t rank = info(tensor).rank();
  if (!first) dims = reordered(dims, to_channels_first(rank));
  const Dims order = first ? to_channels_first(rank) : to_channels_last(rank);
  const auto shape = as_reshape(reordered(dims, order));
  const std::string made = moves_nothing(dims, order) && shape
                               ? emit("Reshape", {from, integers(*shape)})
                               : emit("Transpose", {from}, {graph::attribute("perm", order)});
  return renamed(made, first ? names_.fresh(name + "_nchw") : name);
}

Result<std::string> GraphReader::stored(std::int64_t tensor, Layout layout) {
  TRY(check_index(tensor));
  TRY(check_defined(tensor));
  if (info(tensor).rank() < 3) layout = Layout::as_stored;
  std::string& wanted = value(tensor).stored.in(layout);
  if (!wanted.empty()) return wanted;
  if (constant(tensor)) {
    Dims order(info(tensor).dims.size());
    std::iota(order.begin(), order.end(), 0);
    if (layout == Layout::channels_first) order = to_channels_first(info(tensor).rank());
    return wanted = TRY(constant_value(tensor, info(tensor).dims, order));
  }
  const Layout other = layout == Layout::as_stored ? Layout::channels_first : Layout::as_stored;
  return wanted = in_layout(tensor, value(tensor).stored.in(other), layout);
}

void GraphReader::add_parameters(std::int64_t tensor) {
  Value& its = value(tensor);
  if (!its.scale.empty()) return;
  const TensorInfo& from = info(tensor);
  const Quantization& read = *from.quantization;
  const Dims dims = read.per_tensor() ? Dims{} : Dims{static_cast<std::int64_t>(read.scales.size())};
  const std::string& name = tensor_names_[static_cast<std::size_t>(tensor)];
  its.scale = add_initializer(graph::make_tensor({}, dims, read.scales), name + "_scale");
  its.zero_point =
      add_initializer(zero_point_tensor(from.type, dims, read.zero_points), name + "_zero_point");
}

std::string GraphReader::dequantized(std::int64_t tensor, const std::string& stored, std::int64_t axis) {
  add_parameters(tensor);
  std::vector<graph::Attribute> attributes;
  if (!info(tensor).quantization->per_tensor()) attributes.push_back(graph::attribute("axis", axis));
  const std::string made = emit("DequantizeLinear", {stored, value(tensor).scale, value(tensor).zero_point},
                                std::move(attributes));
  return renamed(made, names_.fresh(tensor_names_[static_cast<std::size_t>(tensor)] + "_dequantized"));
}

Result<std::string> GraphReader::real(std::int64_t tensor, Layout layout) {
  TRY(check_index(tensor));
  if (!info(tensor).quantized()) return stored(tensor, layout);
  if (info(tensor).rank() < 3) layout = Layout::as_stored;
  std::string& wanted = value(tensor).real.in(layout);
  if (!wanted.empty()) return wanted;
  const std::string from = TRY(stored(tensor, layout));
  std::int64_t axis = info(tensor).quantization->axis;
  if (layout == Layout::channels_first) axis = place_in(to_channels_first(info(tensor).rank()), axis);
  return wanted = dequantized(tensor, from, axis);
}

Result<std::string> GraphReader::rearranged(std::int64_t tensor, const Dims& dims, const Dims& order) {
  TRY(check_index(tensor));
  TRY(check_defined(tensor));
  std::string& made = rearranged_[{tensor, {dims, order}}];
  if (!made.empty()) return made;
  if (!constant(tensor)) {
    made = TRY(real(tensor));
    if (dims != info(tensor).dims) made = emit("Reshape", {made, integers(dims)});
    if (!is_identity(order)) made = emit("Transpose", {made}, {graph::attribute("perm", order)});
    return made;
  }
  made = TRY(constant_value(tensor, dims, order));
  if (!info(tensor).quantized()) return made;
  // `dims` differs from the tensor's own by dimensions of 1 at the front or the back; channels keep their
  // place.
  return made = dequantized(tensor, made, place_in(order, info(tensor).quantization->axis));
}

Result<std::string> GraphReader::bias(std::int64_t tensor, std::int64_t input, std::int64_t weight) {
  TRY(check_index(tensor));
  const TensorInfo& from = info(tensor);
  const bool wide = from.type == ElementType::int64;
  if (from.type != ElementType::int32 && !wide) return real(tensor);
  std::vector<float> scales;
  if (from.quantization) {
    scales = from.quantization->scales;
  } else if (info(input).quantized() && info(weight).quantized()) {
    for (const float scale : info(weight).quantization->scales)
      scales.push_back(scale * info(input).quantization->scales.front());
  } else {
    return error(tensor, invalid_model({}, "an integer bias needs scales"));
  }
  std::string value = TRY(stored(tensor));
  const std::string& name = tensor_names_[static_cast<std::size_t>(tensor)];
  if (wide) {
    if (!from.constant)
      return error(tensor, error_at(Code::unsupported, {}, "a bias of int64 has to be a constant"));
    const auto sums = TRY(integers_of(file_, from));
    if (scales.size() != 1 && scales.size() != sums.size())
      return error(tensor,
                   invalid_model({}, fmt::format("its {} sums have {} scales", sums.size(), scales.size())));
    std::vector<float> real(sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      real[i] = static_cast<float>(static_cast<double>(sums[i]) *
                                   static_cast<double>(scales[scales.size() == 1 ? 0 : i]));
    }
    return add_initializer(graph::make_tensor({}, from.dims, std::move(real)), name + "_float");
  }
  const bool per_tensor = scales.size() == 1;
  const Dims dims = per_tensor ? Dims{} : Dims{static_cast<std::int64_t>(scales.size())};
  const std::string scale = add_initializer(graph::make_tensor({}, dims, std::move(scales)), name + "_scale");
  std::vector<graph::Attribute> attributes;
  if (!per_tensor) attributes.push_back(graph::attribute("axis", std::int64_t{0}));
  return emit("DequantizeLinear", {value, scale}, std::move(attributes));
}

std::string GraphReader::emit(std::string_view op, std::vector<std::string> inputs,
                              std::vector<graph::Attribute> attributes, std::string_view domain) {
  const std::string name = names_.fresh(fmt::format("{}/{}", stem_, op));
  graph::Node node =
      graph::make_node(op, std::move(inputs), {name + "_output"}, std::move(attributes), domain);
  node.outputs[0] = names_.fresh(node.outputs[0]);
  node.name = graph::Text(name);
  std::string result = node.outputs[0];
  unnamed_.insert(result);
  add(std::move(node));
  return result;
}

std::vector<std::string> GraphReader::emit_many(std::string_view op, std::vector<std::string> inputs,
                                                std::size_t outputs,
                                                std::vector<graph::Attribute> attributes) {
  std::vector<std::string> results;
  const std::string name = names_.fresh(fmt::format("{}/{}", stem_, op));
  for (std::size_t i = 0; i < outputs; ++i)
    results.push_back(names_.fresh(fmt::format("{}_output_{}", name, i)));
  graph::Node node = graph::make_node(op, std::move(inputs), results, std::move(attributes));
  node.name = graph::Text(name);
  unnamed_.insert(results.begin(), results.end());
  add(std::move(node));
  return results;
}

std::string GraphReader::add_initializer(Tensor tensor, std::string_view stem) {
  std::string name = names_.fresh(stem);
  tensor.name = graph::Text(name);
  graph_.initializers.push_back(std::move(tensor));
  return name;
}

std::string GraphReader::integers(const Dims& values) {
  std::string& made = integers_[values];
  if (!made.empty()) return made;
  const auto count = static_cast<std::int64_t>(values.size());
  return made = add_initializer(graph::make_tensor({}, Dims{count}, values), stem_ + "/integers");
}

std::string GraphReader::integer(std::int64_t value) {
  return add_initializer(graph::make_tensor({}, Dims{}, std::vector<std::int64_t>{value}),
                         stem_ + "/integer");
}

std::string GraphReader::number(float value) {
  return add_initializer(graph::make_tensor({}, Dims{}, std::vector<float>{value}), stem_ + "/number");
}

std::string GraphReader::renamed(const std::string& value, const std::string& wanted) {
  if (graph_.nodes.empty() || !unnamed_.contains(value)) return value;
  for (std::string& output : graph_.nodes.back().outputs) {
    if (output != value) continue;
    unnamed_.erase(value);
    return output = wanted;
  }
  return value;
}

Result<std::string> GraphReader::quantized_as(std::int64_t tensor, const std::string& real, Layout layout) {
  TRY(check_index(tensor));
  const TensorInfo& to = info(tensor);
  if (!to.quantized()) return real;
  add_parameters(tensor);
  std::vector<graph::Attribute> attributes;
  if (!to.quantization->per_tensor()) {
    std::int64_t axis = to.quantization->axis;
    if (layout == Layout::channels_first) axis = place_in(to_channels_first(to.rank()), axis);
    attributes.push_back(graph::attribute("axis", axis));
  }
  return emit("QuantizeLinear", {real, value(tensor).scale, value(tensor).zero_point}, std::move(attributes));
}

Result<void> GraphReader::define(std::int64_t tensor, const std::string& result, Layout layout) {
  TRY(check_index(tensor));
  if (info(tensor).rank() < 3) layout = Layout::as_stored;
  return define_stored(tensor, TRY(quantized_as(tensor, result, layout)), layout);
}

Result<void> GraphReader::define_stored(std::int64_t tensor, const std::string& result, Layout layout) {
  TRY(check_index(tensor));
  if (value(tensor).defined) return error(tensor, invalid_model({}, "two operators compute it"));
  if (info(tensor).rank() < 3) layout = Layout::as_stored;
  const std::string& name = tensor_names_[static_cast<std::size_t>(tensor)];
  value(tensor).defined = true;
  value(tensor).computed = layout;
  value(tensor).stored.in(layout) =
      renamed(result, layout == Layout::as_stored ? name : names_.fresh(name + "_nchw"));
  return {};
}

Result<void> GraphReader::define_constant(std::int64_t tensor, TensorInfo constant) {
  TRY(check_index(tensor));
  if (value(tensor).defined) return error(tensor, invalid_model({}, "two operators compute it"));
  constant.name = info(tensor).name;
  tensors_[static_cast<std::size_t>(tensor)] = std::move(constant);
  value(tensor).defined = true;
  return {};
}

graph::Type GraphReader::type_of(std::int64_t tensor) const {
  const TensorInfo& from = info(tensor);
  graph::TensorType type;
  type.element = static_cast<std::int32_t>(from.type);
  if (from.has_rank) {
    graph::Shape shape;
    for (const std::int64_t size : from.dims) {
      graph::Dimension dim;
      if (size >= 0) dim.value = size;
      shape.dims.push_back(std::move(dim));
    }
    type.shape = std::move(shape);
  }
  return graph::Type(std::move(type));
}

Result<std::vector<std::string>> GraphReader::results() {
  std::vector<std::string> wanted, results;
  const auto* outputs = source_->outputs();
  for (std::uint32_t i = 0; outputs && i < outputs->size(); ++i) {
    TRY(file_.take_records(1));
    TRY(check_index(outputs->Get(i)));
    set_stem(tensor_names_[static_cast<std::size_t>(outputs->Get(i))]);
    wanted.push_back(TRY(stored(outputs->Get(i))));
  }
  std::unordered_set<std::string> own, taken;
  for (const graph::Node& node : graph_.nodes) own.insert(node.outputs.begin(), node.outputs.end());
  for (const graph::ValueInfo& input : graph_.inputs) taken.insert(input.name.str());
  for (const Tensor& constant : graph_.initializers) taken.insert(constant.name.str());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (own.erase(wanted[i]) == 0) {
      const auto tensor = static_cast<std::size_t>(outputs->Get(static_cast<std::uint32_t>(i)));
      const std::string& name = tensor_names_[tensor];
      const bool free = !own.contains(name) && taken.insert(name).second;
      set_stem(name);
      wanted[i] = renamed(emit("Identity", {wanted[i]}), free ? name : names_.fresh(name));
    }
    results.push_back(wanted[i]);
  }
  return results;
}

}  // namespace anybit::tflite
