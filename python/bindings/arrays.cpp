#include "arrays.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "errors.hpp"

namespace anybit::python {

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
  value.strings = nb::cast<std::vector<std::string>>(parts[2]);
  return value;
}

std::map<std::string, Value> to_values(const nb::dict& given) {
  std::map<std::string, Value> values;
  for (const auto& [name, value] : given) values.emplace(nb::cast<std::string>(name), to_value(value));
  return values;
}

ByteArray byte_array(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  using Held = std::shared_ptr<const void>;
  const nb::capsule keep(new Held(std::move(owner)),
                         [](void* held) noexcept { delete static_cast<Held*>(held); });
  // What the library hands out belongs to the receiver alone.
  auto* data = const_cast<std::byte*>(bytes.data());
  return ByteArray(data, {bytes.size()}, keep);
}

nb::object to_python(const Value& value) {
  if (value.kind == Value::Kind::nothing) return nb::none();
  if (value.kind == Value::Kind::sequence) {
    nb::list items;
    for (const Value& item : value.items) items.append(to_python(item));
    return items;
  }
  const nb::object data = value.tensor.type == "string"
                              ? nb::cast(value.strings)
                              : nb::cast(byte_array(value.tensor.bytes, value.tensor.owner));
  return nb::make_tuple(value.tensor.type, value.tensor.dims, data);
}

}  // namespace anybit::python
