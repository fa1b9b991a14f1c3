// A file with samples of one or more inputs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "anybit/samples.hpp"
#include "api/sample_array.hpp"

namespace anybit {

class SampleFile {
 public:
  // `inputs`: that the file may contain. A file without names is for a single input. `chosen`: the caller has
  // said that it is for the one input.
  static Result<SampleFile> open(const std::string& path, const std::vector<Port>& inputs, bool chosen,
                                 const SampleOptions& options);
  std::int64_t count() const { return count_; }
  Result<Sample> at(std::int64_t index) const;
  // "digits.npy[3]"
  std::string name(std::int64_t index) const;
  // Whether it has 8-bit pixels for an input of floating-point numbers.
  bool has_pixels() const;

 private:
  Result<void> add(const Port& port, Value value);
  Result<void> add_npz(const std::vector<Port>& inputs, bool chosen);

  std::string path_;
  std::vector<SampleArray> arrays_;
  Sample texts_;               // string arrays are one sample
  std::optional<Port> image_;  // the input that the image is for
  SampleOptions options_;
  std::int64_t count_ = 1;
};

struct FoundFiles {
  std::vector<std::string> files;    // sorted by name
  std::vector<std::string> skipped;  // of a folder: hidden ones, and those that hold no samples
};

// All files below a folder; a path to a file gives that file.
Result<FoundFiles> sample_files(const std::string& path);

}  // namespace anybit
