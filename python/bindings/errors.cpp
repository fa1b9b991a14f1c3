#include "errors.hpp"

#include "text.hpp"

namespace anybit::python {
void raise(const Error& error) {
  const nb::object made = nb::module_::import_("anybit.errors")
                              .attr("make")(static_cast<int>(error.code), shown(name_of(error.code)),
                                            shown(error.message), shown(error.place), shown(error.hint));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  throw nb::python_error();
}

}  // namespace anybit::python
