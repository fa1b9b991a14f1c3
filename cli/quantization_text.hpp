// The report of a quantization: for people, and as JSON.
#pragma once

#include <string>

#include "anybit/quantize.hpp"
#include "comparison_text.hpp"

namespace anybit::cli {

// `verbose`: every node with what became of it.
std::string quantization_text(const QuantizationReport& report, const std::string& output, bool verbose);
// `comparison`: what it cost; may be null.
std::string quantization_json(const QuantizationReport& report, const Comparison* comparison,
                              const ComparedFiles& files);

}  // namespace anybit::cli
