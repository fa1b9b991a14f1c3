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
  // `inputs`: that the file may contain. A file without names is for a single input.
  static Result<SampleFile> open(const std::string& path, const std::vector<Port>& inputs,
                                 const SampleOptions& options);
  std::int64_t count() const { return count_; }
  Result<Sample> at(std::int64_t index) const;
  // "digits.npy[3]"
  std::string name(std::int64_t index) const;

 private:
  Result<void> add(const Port& port, Value value);

  std::string path_;
  std::vector<SampleArray> arrays_;
  Sample texts_;               // string arrays are one sample
  std::optional<Port> image_;  // the input that the image is for
  SampleOptions options_;
  std::int64_t count_ = 1;
};

// All files below a folder, sorted by name; a path to a file gives that file.
Result<std::vector<std::string>> sample_files(const std::string& path);

}  // namespace anybit
