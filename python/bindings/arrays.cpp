#include "arrays.hpp"

#include <nanobind/stl/vector.h>

#include <iterator>

#include "errors.hpp"
#include "text.hpp"

namespace anybit::python {

namespace {

// nanobind's own error says neither which type was passed nor where.
std::string text_of(nb::handle given, const char* what) {
  std::string text;
  if (nb::try_cast(given, text)) return text;
  raise({Code::invalid_argument, std::string(what) + " is " + nb::repr(given).c_str(), {}, "text in UTF-8"});
}

}  // namespace

Array borrow(std::string type, std::vector<std::int64_t> dims, nb::handle buffer) {
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(buffer.ptr(), view.get(), PyBUF_SIMPLE) != 0) throw nb::python_error();
  const std::shared_ptr<const Py_buffer> held(view.release(), [](Py_buffer* one) {
    nb::gil_scoped_acquire acquire;
    PyBuffer_Release(one);
    delete one;
  });
  Array array;
  array.type = std::move(type);
  array.dims = std::move(dims);
  array.bytes = {static_cast<const std::byte*>(held->buf), static_cast<std::size_t>(held->len)};
  array.owner = held;
  return array;
}

Value to_value(nb::handle given) {
  Value value;
  if (given.is_none()) return value;
  if (nb::isinstance<nb::list>(given)) {
    value.kind = Value::Kind::sequence;
    for (nb::handle item : nb::borrow<nb::list>(given)) value.items.push_back(to_value(item));
    return value;
  }
  const auto parts = nb::cast<nb::tuple>(given);
  auto type = nb::cast<std::string>(parts[0]);
  auto dims = nb::cast<std::vector<std::int64_t>>(parts[1]);
  if (type != "string") return borrow(std::move(type), std::move(dims), parts[2]);
  value.kind = Value::Kind::tensor;
  value.tensor.type = std::move(type);
  value.tensor.dims = std::move(dims);
  for (nb::handle one : nb::cast<nb::list>(parts[2])) value.strings.push_back(text_of(one, "a text"));
  return value;
}

std::map<std::string, Value> to_values(const nb::dict& given) {
  std::map<std::string, Value> values;
  for (const auto& [name, value] : given)
    values.emplace(text_of(name, "the name of an input"), to_value(value));
  return values;
}

ByteArray byte_array(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  using Held = std::shared_ptr<const void>;
  const nb::capsule keep(new Held(std::move(owner)),
                         [](void* held) noexcept { delete static_cast<Held*>(held); });
  // Copies, so that the caller owns the result.
  auto* data = const_cast<std::byte*>(bytes.data());
  return ByteArray(data, {bytes.size()}, keep);
}

namespace {

// Memory of returned arrays: from the first byte to one past the last.
class HandedOut {
 public:
  // False, without an effect, if some of these bytes are in use already.
  bool add(std::span<const std::byte> bytes) {
    if (bytes.empty()) return true;
    const std::byte* const end = bytes.data() + bytes.size();
    const auto next = parts_.lower_bound(end);  // the first range that does not begin before the end
    if (next != parts_.begin() && std::prev(next)->second > bytes.data()) return false;
    parts_.emplace(bytes.data(), end);
    return true;
  }

 private:
  std::map<const std::byte*, const std::byte*> parts_;
};

ByteArray own_bytes(const Array& tensor, HandedOut& others) {
  if (others.add(tensor.bytes)) return byte_array(tensor.bytes, tensor.owner);
  auto copy = std::make_shared<const std::vector<std::byte>>(tensor.bytes.begin(), tensor.bytes.end());
  return byte_array(*copy, copy);
}

nb::object to_python(const Value& value, HandedOut& others) {
  if (value.kind == Value::Kind::nothing) return nb::none();
  if (value.kind == Value::Kind::sequence) {
    nb::list items;
    for (const Value& item : value.items) items.append(to_python(item, others));
    return items;
  }
  const nb::object data =
      value.tensor.type == "string" ? nb::cast(value.strings) : nb::cast(own_bytes(value.tensor, others));
  return nb::make_tuple(value.tensor.type, value.tensor.dims, data);
}

// Inputs belong to the caller: results that alias them are copied.
void add_all(const Value& value, HandedOut& others) {
  others.add(value.tensor.bytes);
  for (const Value& item : value.items) add_all(item, others);
}

}  // namespace

nb::list to_python(const std::vector<Value>& values, const std::map<std::string, Value>& inputs) {
  HandedOut others;
  for (const auto& [name, one] : inputs) add_all(one, others);
  nb::list all;
  for (const Value& one : values) all.append(to_python(one, others));
  return all;
}

}  // namespace anybit::python
