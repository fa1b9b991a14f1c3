// A temporary folder for the fuzzer's files, removed at exit.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "require.hpp"

inline const std::string& scratch_folder() {
  struct Made {
    std::string path =
        (std::filesystem::temp_directory_path() / "anybit-fuzz-").string() + std::string(6, 'X');
    Made() { require(mkdtemp(path.data()) != nullptr, "no folder"); }
    ~Made() { std::filesystem::remove_all(path); }
  };
  static const Made made;
  return made.path;
}
