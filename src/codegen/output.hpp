// Files that a generator writes: in a folder of their own beside where they are to go, and moved there when
// all is well. They appear whole or not at all.
#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

#include "anybit/result.hpp"

namespace anybit::codegen {

class Output {
 public:
  // For `path` and files beside it whose names begin with its own, less `extension`. None of `kept`, files
  // that the model lies in, may be among them.
  static Result<Output> make(const std::string& path, std::string_view extension,
                             std::vector<std::string> kept);
  Output(Output&& other) noexcept;
  Output& operator=(Output&&) = delete;
  ~Output();  // removes what was not moved

  // Where the generator is to write.
  std::string staged() const { return stage_ + '/' + name_; }
  // Moves all files to where they belong, the one that was asked for last. After an error those that were
  // there before are there again.
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

// Whether both name one file that is there.
bool is_same_file(const std::string& a, const std::string& b);

}  // namespace anybit::codegen
