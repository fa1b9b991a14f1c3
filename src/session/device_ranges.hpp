// The ranges that sessions gather of one model: what is in the file, and what this session has seen since.
// Sessions that save at the same time, in this process or in others, wait for each other.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "calibrate/ranges_file.hpp"

namespace anybit {

class DeviceRanges {
 public:
  // `model`: the hash of its content. `path`: empty if ranges are not kept.
  DeviceRanges(std::string model, std::string path);

  // One more run.
  Result<void> add(std::map<std::string, calibrate::Statistics> tensors);
  // Runs that are known: of the file, and of this session.
  Result<std::int64_t> runs();
  // All that is known. An error if it is nothing; then it says whether there are ranges of another model.
  Result<calibrate::Ranges> all() const;
  bool saved() const { return fresh_.samples == 0; }
  Result<void> save();
  Result<void> reset();

 private:
  struct File {
    std::optional<calibrate::Ranges> ranges;  // nothing if there is none, or one of another model
    bool stale = false;                       // the latter
  };
  Result<File> read() const;
  Result<calibrate::Ranges> together(std::optional<calibrate::Ranges> old) const;

  std::string path_;
  calibrate::Ranges fresh_;                 // not in the file yet
  std::optional<std::int64_t> runs_saved_;  // in the file, when it was looked at last
};

}  // namespace anybit
