// The HTML report.
#include "anybit/report.hpp"

#include "errors.hpp"
#include "parts.hpp"
#include "text.hpp"

namespace anybit::python {
namespace {

std::string page(const std::string& command, const Model* before, const Model* after,
                 const QuantizationReport* quantization, const Comparison* comparison, const Ranges* ranges) {
  ReportInput input;
  input.command = command;
  input.before.model = before;
  input.after.model = after;
  input.quantization = quantization;
  input.comparison = comparison;
  input.ranges = ranges;
  return take(released([&] { return report_page(input); }));
}

}  // namespace

void add_report_page(nb::module_& module) {
  module.def("report_page", page, nb::arg("command"), nb::arg("before"), nb::arg("after").none(),
             nb::arg("quantization").none(), nb::arg("comparison").none(), nb::arg("ranges").none());
}

}  // namespace anybit::python
