#include "node.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "constants.hpp"
#include "packed_tensor.hpp"
#include "unit.hpp"

namespace anybit::cgen {
namespace {

std::vector<Value*> chosen(std::vector<Value>& scope, const int32_t* numbers, std::size_t count) {
  std::vector<Value*> result;
  for (std::size_t i = 0; i < count; ++i)
    result.push_back(numbers[i] < 0 ? nullptr : &scope[static_cast<std::size_t>(numbers[i])]);
  return result;
}

}  // namespace

Node::Node(Unit& unit, const anybit_node& view, std::vector<Value>& scope)
    : unit_(unit),
      view_(view),
      scope_(scope),
      inputs_(chosen(scope, view.inputs, view.input_count)),
      outputs_(chosen(scope, view.outputs, view.output_count)) {}

void Node::refuse_with(const std::string& reason) const {
  throw Refusal(fmt::format("c-gen cannot generate node '{}' ({}{}{}): {}", view_.name, view_.domain,
                            *view_.domain ? "." : "", view_.op, reason));
}

const anybit_attribute* Node::attribute(std::string_view name) const {
  for (std::size_t i = 0; i < view_.attribute_count; ++i) {
    if (view_.attributes[i].name == name) return &view_.attributes[i];
  }
  return nullptr;
}

std::int64_t Node::integer(std::string_view name, std::int64_t otherwise) const {
  const anybit_attribute* found = attribute(name);
  return found && found->kind == ANYBIT_ATTRIBUTE_INT ? found->ints[0] : otherwise;
}

float Node::real(std::string_view name, float otherwise) const {
  const anybit_attribute* found = attribute(name);
  return found && found->kind == ANYBIT_ATTRIBUTE_FLOAT ? found->floats[0] : otherwise;
}

std::string Node::text(std::string_view name, std::string_view otherwise) const {
  const anybit_attribute* found = attribute(name);
  return std::string(found && found->kind == ANYBIT_ATTRIBUTE_TEXT ? found->texts[0] : otherwise);
}

std::optional<std::vector<std::int64_t>> Node::integers(std::string_view name) const {
  const anybit_attribute* found = attribute(name);
  if (!found || (found->kind != ANYBIT_ATTRIBUTE_INTS && found->kind != ANYBIT_ATTRIBUTE_INT))
    return std::nullopt;
  return std::vector<std::int64_t>(found->ints, found->ints + found->count);
}

std::optional<std::vector<float>> Node::reals(std::string_view name) const {
  const anybit_attribute* found = attribute(name);
  if (!found || (found->kind != ANYBIT_ATTRIBUTE_FLOATS && found->kind != ANYBIT_ATTRIBUTE_FLOAT))
    return std::nullopt;
  return std::vector<float>(found->floats, found->floats + found->count);
}

std::vector<std::string> Node::texts(std::string_view name) const {
  const anybit_attribute* found = attribute(name);
  if (!found || (found->kind != ANYBIT_ATTRIBUTE_TEXTS && found->kind != ANYBIT_ATTRIBUTE_TEXT)) return {};
  return std::vector<std::string>(found->texts, found->texts + found->count);
}

const Value& Node::in(std::size_t i) const {
  if (!has(i)) refuse("input {} is missing", i);
  return *inputs_[i];
}

const Value& Node::out(std::size_t i) const {
  if (!has_out(i)) refuse("output {} is missing", i);
  return *outputs_[i];
}

std::size_t Node::axis(std::int64_t axis, std::size_t rank) const {
  const auto size = static_cast<std::int64_t>(rank);
  if (axis < -size || axis >= size) refuse("axis {} of a tensor of rank {}", axis, rank);
  return static_cast<std::size_t>(axis < 0 ? axis + size : axis);
}

std::vector<std::int64_t> Node::integers_in(std::size_t i, std::string_view what) const {
  if (!constant(i)) refuse("{} must be constant", what);
  const auto found = integers_of(in(i));
  if (!found) refuse("{} must be integers, not {}", what, in(i).info().name);
  return *found;
}

std::vector<float> Node::floats_in(std::size_t i, std::string_view what) const {
  if (!constant(i)) refuse("{} must be constant", what);
  const auto found = floats_of(in(i));
  if (!found) refuse("{} must be numbers, not {}", what, in(i).info().name);
  return *found;
}

std::int64_t Node::integer_in(std::size_t i, std::string_view what, std::int64_t otherwise) const {
  if (!has(i)) return otherwise;
  const auto all = integers_in(i, what);
  if (all.size() != 1) refuse("{} has {} elements, not one", what, all.size());
  return all[0];
}

float Node::float_in(std::size_t i, std::string_view what, float otherwise) const {
  if (!has(i)) return otherwise;
  const auto all = floats_in(i, what);
  if (all.size() != 1) refuse("{} has {} elements, not one", what, all.size());
  return all[0];
}

std::string Node::parameter(std::string_view type, std::string name, std::string argument) {
  if (parameter_names_.insert(name).second)
    parameters_.push_back({std::string(type), name, std::move(argument)});
  return name;
}

std::string Node::x(std::size_t i) {
  const Value& value = in(i);
  if (value.constant()) return unit_.constant(value);
  unit_.need(value);
  if (inside_) return fmt::format("((const {} *){})", value.c(), unit_.address(value));
  // A value that is passed twice becomes one parameter: parameters must not alias.
  if (in_place_ >= 0 && &value == inputs_[static_cast<std::size_t>(in_place_)]) return y(0);
  return parameter(fmt::format("const {}", value.c()), fmt::format("x{}", i), unit_.address(value));
}

std::string Node::y(std::size_t i) {
  const Value& value = out(i);
  if (inside_) return fmt::format("(({} *){})", value.c(), unit_.address(value));
  return parameter(value.c(), fmt::format("y{}", i), unit_.address(value));
}

std::string Node::packed(std::size_t i) {
  if (!constant(i)) refuse("input {} must be constant", i);
  return unit_.packed(in(i));
}

std::optional<std::string> Node::row_decoder(std::size_t i) {
  const anybit_node* maker = unit_.waiting(in(i));
  if (!maker) return std::nullopt;
  Node decode(unit_, *maker, unit_.scope_of_waiting(in(i)));
  if (!emit_row_decoder(decode)) return std::nullopt;
  const std::string text = fmt::format("(int32_t r, float *restrict to) {{\n{}}}\n", decode.own_.text());
  return unit_.function("decode", text);
}

std::string Node::scratch(std::string_view type, std::int64_t count) {
  static constexpr std::pair<std::string_view, std::int64_t> kSizes[] = {
      {"float", 4},    {"double", 8},  {"int8_t", 1},   {"uint8_t", 1}, {"int16_t", 2},
      {"uint16_t", 2}, {"int32_t", 4}, {"uint32_t", 4}, {"int64_t", 8}, {"uint64_t", 8}};
  const auto* size = std::ranges::find(kSizes, type, [](const auto& one) { return one.first; });
  if (size == std::end(kSizes)) refuse("no scratch memory of type {}", type);
  scratches_.push_back(unit_.scratch(count * size->second));
  const std::string argument = unit_.address(scratches_.back());
  if (inside_) return fmt::format("(({} *){})", type, argument);
  return parameter(type, fmt::format("s{}", scratches_.size() - 1), argument);
}

void Node::check_table(std::int64_t entries) const {
  constexpr std::int64_t kMost = std::int64_t{1} << 22;
  if (entries > kMost) refuse("it needs a table of {} entries, more than {}", entries, kMost);
}

std::string Node::array(Element type, const void* elements, std::int64_t count) {
  const auto bytes = static_cast<std::size_t>(count * info(type).bytes);
  return unit_.array(type, std::string(static_cast<const char*>(elements), bytes), std::string(name()));
}

void Node::loop(std::string_view name, std::int64_t count) {
  open("for (int32_t {0} = 0; {0} < {1}; ++{0})", name, count);
}

void Node::helper(std::string_view name, std::string_view text) { unit_.helper(name, text); }

Body& Node::body(std::string_view name) {
  const anybit_attribute* found = attribute(name);
  if (!found || found->kind != ANYBIT_ATTRIBUTE_GRAPH) refuse("the graph {} is missing", name);
  return unit_.body(*this, *found);
}

void Node::emit(Body& body) { unit_.emit_graph(*body.graph, body.values, *out_); }

std::string Node::pointer(const Value& value) {
  return value.constant() ? unit_.constant(value)
                          : fmt::format("(({} *){})", value.c(), unit_.address(value));
}

void Node::hold(const Value& value) { unit_.hold(value, first_step_); }

anybit_preference Node::preference() const { return unit_.preference(); }

}  // namespace anybit::cgen
