#include "codegen/writable.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/try.hpp"

namespace anybit::codegen {
namespace {

namespace fs = std::filesystem;

Error refused(const fs::path& path) {
  return error_at(Code::unsafe_path, shown(path.string()),
                  "it is not loaded as code: everybody may write to it",
                  fmt::format("let only its owner change it: chmod o-w '{}'", shown(path.string())));
}

// Checks `path` and its parent folders: an entry that can be moved away can be replaced.
Result<void> refuse_along(fs::path path) {
  bool may_be_replaced = false;  // the entry in `path`, if everybody may write there
  for (bool first = true;; first = false) {
    struct stat about {};
    if (stat(path.c_str(), &about) != 0) return system_error("read", path.string(), errno);
    const bool open = (about.st_mode & S_IWOTH) != 0, sticky = !first && (about.st_mode & S_ISVTX) != 0;
    if (open && (!sticky || may_be_replaced)) return refused(path);
    may_be_replaced = about.st_uid != 0 && about.st_uid != geteuid();
    if (!path.has_relative_path()) return {};
    path = path.parent_path();
  }
}

}  // namespace

Result<void> reject_world_writable(const std::string& file) {
  std::error_code failed;
  const fs::path named = file, real = fs::canonical(named, failed);
  if (failed) return system_error("read", file, failed.value());
  TRY(refuse_along(named));
  if (real == named) return {};
  return refuse_along(real);
}

}  // namespace anybit::codegen
