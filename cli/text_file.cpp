#include "text_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace anybit::cli {

namespace fs = std::filesystem;

namespace {

Error cannot_write(const std::string& path, const std::string& why) {
  return {Code::io, fmt::format("cannot write '{}': {}", path, why), {}, {}};
}

fs::path behind_links(const std::string& path) {
  std::error_code ignored;
  fs::path target(path);
  constexpr int kMostLinks = 40;
  for (int i = 0; i < kMostLinks && fs::is_symlink(target, ignored); ++i)
    target = target.parent_path() / fs::read_symlink(target, ignored);
  return target;
}

}  // namespace

Result<void> check_writable(const std::string& path) {
  if (path.empty()) return {};
  std::error_code ignored;
  const fs::path target = behind_links(path);
  if (fs::exists(target, ignored) && !fs::is_regular_file(target, ignored))
    return cannot_write(path, "it is not a regular file");
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return cannot_write(path, std::strerror(errno));
  return {};
}

Result<void> check_replaces(const std::string& flag, const std::string& path,
                            const std::vector<std::string>& others) {
  for (const std::string& other : others) {
    std::error_code ignored;
    if (path.empty() || other.empty()) continue;
    const std::string behind = other.substr(other.find('=') + 1);  // all of it if there is none
    if (path != other && !fs::equivalent(path, other, ignored) && !fs::equivalent(path, behind, ignored))
      continue;
    return Error{Code::invalid_argument,
                 fmt::format("{} would overwrite '{}'", flag, other),
                 {},
                 fmt::format("another name for {}", flag)};
  }
  return {};
}

}  // namespace anybit::cli
