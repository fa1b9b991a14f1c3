// A file with samples of one or more inputs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "anybit/samples.hpp"
#include "session/sample_array.hpp"

namespace anybit {

class SampleFile {
 public:
  // `inputs`: those that the file may be for. A file that does not name its arrays is for a single one.
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
  Sample texts_;               // arrays of strings are not cut
  std::optional<Port> image_;  // the input that the picture is for
  SampleOptions options_;
  std::int64_t count_ = 1;
};

// All files beneath a folder, in the order of their names; the file itself if it is none.
Result<std::vector<std::string>> sample_files(const std::string& path);

}  // namespace anybit
