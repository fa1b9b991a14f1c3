// The result of a comparison as text and as JSON.
#pragma once

#include <cstdint>
#include <string>

#include "anybit/compare.hpp"
#include "sample_options.hpp"

namespace anybit::cli {

struct ComparedFiles {
  std::string reference, other;
  std::int64_t reference_bytes = 0, other_bytes = 0;
};

// Reads the file sizes from disk.
ComparedFiles compared_files(const std::string& reference, const std::string& other);

// `rows`: how many layers to show, lowest SQNR first.
std::string comparison_text(const Comparison& comparison, const ComparedFiles& files, std::int64_t rows);
// `data`: what the models were compared on.
std::string comparison_json(const Comparison& comparison, const ComparedFiles& files,
                            const SampleArguments& data);

}  // namespace anybit::cli
