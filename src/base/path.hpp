// Folder and file name of a path, without the cost of std::filesystem::path, which is noticeable for folders
// of thousands of small models.
#pragma once

#include <string>

namespace anybit {

// "." if there is no slash.
inline std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The part after the last slash.
inline std::string file_name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace anybit
