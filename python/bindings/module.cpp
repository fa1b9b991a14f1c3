// The native module anybit._anybit: thin bindings of include/anybit. The public API is in python/anybit.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string_view.h>

#include <map>

#include "anybit/result.hpp"
#include "anybit/version.hpp"
#include "parts.hpp"
#include "text.hpp"

NB_MODULE(_anybit, module) {
  namespace nb = nanobind;
  using namespace anybit;
  // Objects may live until the interpreter ends: do not warn about leaks.
  nb::set_leak_warnings(false);
  module.def("version", [] {
    const Version v = version();
    return nb::make_tuple(v.text, v.compiler, v.build, v.with, v.simd);
  });
  module.def("code_names", [] {
    nb::dict names;
    for (int code = static_cast<int>(Code::invalid_argument); code <= static_cast<int>(Code::invalid_data);
         ++code)
      names[nb::int_(code)] = name_of(static_cast<Code>(code));
    return names;
  });
  python::add_model(module);
  python::add_inspection(module);
  python::add_session(module);
  python::add_calibration(module);
  python::add_quantization(module);
  python::add_comparison(module);
  python::add_sensitivity(module);
  python::add_formats(module);
  python::add_codegen(module);
  python::add_report_page(module);
}
