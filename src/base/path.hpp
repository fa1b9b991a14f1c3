// The two parts of a path as text, without the cost of std::filesystem::path, which matters to folders of
// thousands of small models.
#pragma once

#include <string>

namespace anybit {

// "." for a name alone.
inline std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// What stands behind the last slash.
inline std::string file_name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace anybit
