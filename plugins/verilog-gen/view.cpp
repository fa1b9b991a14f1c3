#include "view.hpp"

#include <cstring>

namespace anybit::verilog {
namespace {

constexpr std::pair<std::string_view, IntegerType> kIntegers[] = {
    {"int8", {8, true}},   {"uint8", {8, false}}, {"int16", {16, true}},   {"uint16", {16, false}},
    {"int32", {32, true}}, {"int64", {64, true}}, {"uint32", {32, false}}, {"bool", {1, false}}};

}  // namespace

std::optional<IntegerType> integer_type(std::string_view type) {
  for (const auto& [name, info] : kIntegers) {
    if (name == type) return info;
  }
  return std::nullopt;
}

std::vector<std::int64_t> Value::dims() const {
  return view_->rank > 0 ? std::vector<std::int64_t>(view_->dims, view_->dims + view_->rank)
                         : std::vector<std::int64_t>();
}

std::int64_t Value::count() const {
  std::int64_t all = 1;
  for (const std::int64_t one : dims()) all *= one;
  return all;
}

template <class T, class To>
std::vector<To> Value::read() const {
  std::vector<To> all(view_->bytes / sizeof(T));
  for (std::size_t i = 0; i < all.size(); ++i) {
    T one;
    std::memcpy(&one, static_cast<const char*>(view_->data) + i * sizeof(T), sizeof(T));
    all[i] = static_cast<To>(one);
  }
  return all;
}

std::optional<std::vector<std::int64_t>> Value::integers() const {
  if (!constant()) return std::nullopt;
  if (type() == "int8") return read<std::int8_t, std::int64_t>();
  if (type() == "uint8" || type() == "bool") return read<std::uint8_t, std::int64_t>();
  if (type() == "int16") return read<std::int16_t, std::int64_t>();
  if (type() == "uint16") return read<std::uint16_t, std::int64_t>();
  if (type() == "int32") return read<std::int32_t, std::int64_t>();
  if (type() == "uint32") return read<std::uint32_t, std::int64_t>();
  if (type() == "int64") return read<std::int64_t, std::int64_t>();
  return std::nullopt;
}

std::optional<std::vector<float>> Value::floats() const {
  if (!constant() || !is_float()) return std::nullopt;
  return read<float, float>();
}

Value Node::in(std::size_t i) const {
  if (!has(i)) refuse("input {} is missing", i);
  return Value(graph_.values[view_.inputs[i]]);
}

Value Node::out() const {
  if (out_index() < 0) refuse("it has no output");
  return Value(graph_.values[out_index()]);
}

const anybit_attribute* Node::attribute(std::string_view name) const {
  for (std::size_t i = 0; i < view_.attribute_count; ++i) {
    if (name == view_.attributes[i].name) return &view_.attributes[i];
  }
  return nullptr;
}

std::int64_t Node::integer(std::string_view name, std::int64_t otherwise) const {
  const anybit_attribute* found = attribute(name);
  return found && found->kind == ANYBIT_ATTRIBUTE_INT ? found->ints[0] : otherwise;
}

std::optional<std::vector<std::int64_t>> Node::integers(std::string_view name) const {
  const anybit_attribute* found = attribute(name);
  if (!found || found->kind != ANYBIT_ATTRIBUTE_INTS) return std::nullopt;
  return std::vector<std::int64_t>(found->ints, found->ints + found->count);
}

std::string Node::text(std::string_view name, std::string_view otherwise) const {
  const anybit_attribute* found = attribute(name);
  return std::string(found && found->kind == ANYBIT_ATTRIBUTE_TEXT ? found->texts[0] : otherwise);
}

std::vector<std::int64_t> Node::integers_in(std::size_t i, std::string_view what) const {
  auto all = in(i).integers();
  if (!all) refuse("{} must be constant integers", what);
  return *std::move(all);
}

std::vector<float> Node::reals_in(std::size_t i, std::string_view what) const {
  auto all = in(i).floats();
  if (!all) refuse("{} must be constant float32", what);
  return *std::move(all);
}

float Node::real_in(std::size_t i, std::string_view what) const {
  const auto all = reals_in(i, what);
  if (all.size() != 1) refuse("{} has {} elements, not one", what, all.size());
  return all[0];
}

std::int64_t Node::integer_in(std::size_t i, std::string_view what, std::int64_t otherwise) const {
  if (!has(i)) return otherwise;
  const auto all = integers_in(i, what);
  if (all.size() != 1) refuse("{} has {} elements, not one", what, all.size());
  return all[0];
}

void Node::refuse_with(const std::string& reason) const {
  const std::string domain = *view_.domain ? fmt::format("{}.", view_.domain) : "";
  throw Refusal(
      fmt::format("verilog-gen cannot generate node '{}' ({}{}): {}", view_.name, domain, view_.op, reason));
}

std::string in_comment(std::string_view name) {
  constexpr std::size_t kMost = 100;
  std::string text;
  for (const char one : name.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(one);
    // No control characters, no end of a block comment, and no backslash that could join lines.
    text += byte < ' ' || byte > '~' || one == '*' || one == '\\' || one == '`' ? '_' : one;
  }
  return text;
}

}  // namespace anybit::verilog
