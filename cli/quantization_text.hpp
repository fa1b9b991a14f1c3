// The report of a quantization as text and as JSON.
#pragma once

#include <string>

#include "anybit/quantize.hpp"
#include "comparison_text.hpp"

namespace anybit::cli {

// `verbose`: also list every node and its outcome.
std::string quantization_text(const QuantizationReport& report, const std::string& output, bool verbose);
// `comparison`: the quantization error, on `data`; may be null. Only its verdict is printed if
// `verdict_only`.
std::string quantization_json(const QuantizationReport& report, const Comparison* comparison,
                              const ComparedFiles& files, const SampleArguments& data, bool verdict_only);

}  // namespace anybit::cli
