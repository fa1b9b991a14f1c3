#include "codegen/store.hpp"

#include <fmt/format.h>

namespace anybit::codegen {
namespace {

// The data of a constant without elements: non-null, since null means "not a constant".
constexpr std::byte kNoElements[1] = {};

bool is_small(graph::ElementType type) {
  const graph::ElementTypeInfo* info = graph::find(type);
  return info && info->bits > 0 && info->bits < 8;
}

std::vector<const char*> pointers(Store& store, const std::vector<std::string>& texts) {
  std::vector<const char*> list;
  for (const std::string& one : texts) list.push_back(store.text(one));
  return list;
}

}  // namespace

const char* Store::text(std::string_view text) { return texts_.emplace(text).first->c_str(); }

anybit_value Store::value(std::string_view name, const ops::Value& about) {
  anybit_value value{};
  value.name = text(name);
  value.type = about.type == graph::ElementType::undefined ? "" : text(graph::name_of(about.type));
  value.rank = -1;
  if (!about.shape) return value;
  std::vector<std::int64_t> dims;
  for (const ops::Dim& dim : *about.shape) dims.push_back(dim.size.value_or(-1));
  value.rank = static_cast<std::int32_t>(dims.size());
  value.dims = list(std::move(dims));
  return value;
}

anybit_value Store::value(std::string_view name, const ops::Array& constant) {
  if (is_small(constant.type())) {
    const auto [found, fresh] = packed_.try_emplace(constant.bytes());
    if (fresh) {
      kept_.push_back(std::make_shared<const ops::Array>(constant));  // so the address stays unique
      found->second = constant.to_constant();
    }
    return with_data(name, found->second);
  }
  anybit_value result =
      value(name, ops::tensor(constant.type(), ops::Shape(constant.dims().begin(), constant.dims().end())));
  if (constant.type() == graph::ElementType::string) return result;
  kept_.push_back(std::make_shared<const ops::Array>(constant));
  result.bytes = constant.byte_count();
  result.data = result.bytes > 0 ? constant.bytes() : kNoElements;
  return result;
}

anybit_value Store::value(std::string_view name, const graph::Tensor& constant) {
  kept_.push_back(std::make_shared<const graph::Tensor>(constant));
  return with_data(name, constant);
}

anybit_value Store::with_data(std::string_view name, const graph::Tensor& tensor) {
  anybit_value result =
      value(name, ops::tensor(tensor.type(), ops::Shape(tensor.dims.begin(), tensor.dims.end())));
  if (tensor.type() == graph::ElementType::string) return result;
  result.bytes = tensor.data.size();
  result.data = result.bytes > 0 ? tensor.data.span().data() : kNoElements;
  return result;
}

anybit_attribute Store::attribute(const graph::Attribute& attribute, const anybit_graph* graph) {
  anybit_attribute result{};
  result.name = text(attribute.name.str());
  result.kind = ANYBIT_ATTRIBUTE_OTHER;
  result.count = 1;
  const auto set = [&](anybit_attribute_kind kind, std::size_t count) {
    result.kind = kind;
    result.count = count;
  };
  const auto& value = attribute.value;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    set(ANYBIT_ATTRIBUTE_INT, 1);
    result.ints = list(std::vector{*integer});
  } else if (const auto* real = std::get_if<float>(&value)) {
    set(ANYBIT_ATTRIBUTE_FLOAT, 1);
    result.floats = list(std::vector{*real});
  } else if (const auto* one = std::get_if<std::string>(&value)) {
    set(ANYBIT_ATTRIBUTE_TEXT, 1);
    result.texts = list(pointers(*this, {*one}));
  } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
    set(ANYBIT_ATTRIBUTE_INTS, integers->size());
    result.ints = list(*integers);
  } else if (const auto* reals = std::get_if<std::vector<float>>(&value)) {
    set(ANYBIT_ATTRIBUTE_FLOATS, reals->size());
    result.floats = list(*reals);
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    set(ANYBIT_ATTRIBUTE_TEXTS, texts->size());
    result.texts = list(pointers(*this, *texts));
  } else if (const auto* tensor = std::get_if<graph::Tensor>(&value)) {
    set(ANYBIT_ATTRIBUTE_TENSOR, 1);
    result.tensor = list(std::vector{this->value(tensor->name.str(), *tensor)});
  } else if (graph) {
    set(ANYBIT_ATTRIBUTE_GRAPH, 1);
    result.graph = graph;
  }
  return result;
}

}  // namespace anybit::codegen
