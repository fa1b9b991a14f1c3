// The files that a generator writes. It writes to a staging folder beside the target; on success the files
// are moved into place. So a file appears complete or not at all.
#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

#include "anybit/result.hpp"

namespace anybit::codegen {

class Output {
 public:
  // For `path`, and for files beside it whose names begin with the same stem (the name less `extension`).
  // None of them may be one of `kept`, the files that hold the model.
  static Result<Output> make(const std::string& path, std::string_view extension,
                             std::vector<std::string> kept);
  Output(Output&& other) noexcept;
  Output& operator=(Output&&) = delete;
  ~Output();  // removes files that were not moved

  // The path that the generator writes to.
  std::string staged() const { return stage_ + '/' + name_; }
  // Moves all files into place, the requested one last. After an error the old files are restored.
  Result<void> commit();

 private:
  Output() = default;
  struct Move {
    std::string name;
    bool exchanged = false;
  };
  Result<void> make_stage(const std::string& path);
  Result<std::vector<Move>> staged_files() const;
  Result<void> check_target(const std::string& name) const;
  Result<void> move(Move& file) const;
  void undo(const std::vector<Move>& moved) const;

  std::string folder_, name_, stem_, stage_;
  int claim_ = -1;  // the lock on stage_ (base/leftovers.hpp)
  std::vector<std::string> kept_;
};

// Whether both paths name the same existing file.
bool is_same_file(const std::string& a, const std::string& b);

}  // namespace anybit::codegen
