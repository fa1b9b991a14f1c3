#include "base/folder_names.hpp"

#include <dirent.h>

#include <cerrno>
#include <memory>

#include "base/error.hpp"

namespace anybit {

Result<std::vector<std::string>> names_in(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
  if (!open) return system_error("cannot read", folder, errno);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(open.get());
    if (!entry && errno != 0) return system_error("cannot read", folder, errno);
    if (!entry) return names;
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
}

}  // namespace anybit
