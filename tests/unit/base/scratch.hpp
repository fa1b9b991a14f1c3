// A temporary folder for each test, removed afterwards. Death tests run the test again in a process that dies
// before it can clean up, so a process started by a test makes its folders inside that test's.
#pragma once

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace anybit {

class Scratch {
 public:
  Scratch() {
    // mkdtemp needs six letters X at the end, which it replaces.
    std::string name = (outer_ / "anybit-test-").string() + std::string(6, 'X');
    path_ = mkdtemp(name.data());
    std::filesystem::create_directory(path_ / ".children");
    setenv("TMPDIR", (path_ / ".children").c_str(), 1);
  }
  ~Scratch() {
    setenv("TMPDIR", outer_.c_str(), 1);
    std::filesystem::remove_all(path_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string path() const { return path_.string(); }
  std::string file(std::string_view name) const { return (path_ / name).string(); }
  std::string put(std::string_view name, std::string_view content) const {
    std::ofstream(file(name), std::ios::binary) << content;
    return file(name);
  }
  std::string content(std::string_view name) const {
    std::ifstream stream(file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      if (entry.path().filename() != ".children") names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  const std::filesystem::path outer_ = std::filesystem::temp_directory_path();
  std::filesystem::path path_;
};

}  // namespace anybit
