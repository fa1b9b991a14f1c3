#include "errors.hpp"

#include <string>

namespace anybit::python {
namespace {

// Names in models need not be UTF-8.
nb::object text(std::string_view bytes) {
  return nb::steal(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "backslashreplace"));
}

}  // namespace

void raise(const Error& error) {
  const nb::object made = nb::module_::import_("anybit.errors")
                              .attr("make")(static_cast<int>(error.code), text(name_of(error.code)),
                                            text(error.message), text(error.place), text(error.hint));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  throw nb::python_error();
}

}  // namespace anybit::python
