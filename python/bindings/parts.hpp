// The parts of the module; each registers its classes and functions.
#pragma once

#include <nanobind/nanobind.h>

namespace anybit::python {

void add_model(nanobind::module_& module);
void add_inspection(nanobind::module_& module);
void add_session(nanobind::module_& module);
void add_calibration(nanobind::module_& module);
void add_quantization(nanobind::module_& module);
void add_comparison(nanobind::module_& module);
void add_sensitivity(nanobind::module_& module);
void add_formats(nanobind::module_& module);
void add_codegen(nanobind::module_& module);
void add_report_page(nanobind::module_& module);

}  // namespace anybit::python
