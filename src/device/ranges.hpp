// The ranges of one model that sessions gather: those in the file, and those that this session has added
// since. Concurrent saves, in this process or others, are serialized.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "calibrate/ranges_file.hpp"

namespace anybit {

class DeviceRanges {
 public:
  // `model`: the hash of its content. `path`: empty if ranges are not saved.
  DeviceRanges(std::string model, std::string path);

  // Adds one run.
  Result<void> add(std::map<std::string, calibrate::Statistics> tensors);
  // The number of runs, in the file and in this session.
  Result<std::int64_t> runs();
  // The merged ranges. An error if there are none; it says whether the file has ranges of another model.
  Result<calibrate::Ranges> all() const;
  bool saved() const { return fresh_.samples == 0; }
  Result<void> save();
  Result<void> reset();

 private:
  struct File {
    std::optional<calibrate::Ranges> ranges;  // empty if there is no file, or it is of another model
    bool stale = false;                       // the file is of another model
  };
  Result<File> read() const;
  Result<calibrate::Ranges> together(std::optional<calibrate::Ranges> old) const;

  std::string path_;
  calibrate::Ranges fresh_;                 // not saved yet
  std::optional<std::int64_t> runs_saved_;  // when the file was last read
};

}  // namespace anybit
