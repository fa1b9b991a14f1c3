#include "base/leftovers.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

namespace anybit {
namespace {

constexpr std::string_view kPrefix = ".anybit-", kFileEnd = ".tmp";
constexpr std::size_t kFileLetters = 16, kFolderLetters = 6;

enum class Kind { none, file, folder };

Kind kind_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return Kind::none;
  name.remove_prefix(kPrefix.size());
  if (name.size() == kFolderLetters) return Kind::folder;
  return name.size() == kFileLetters + kFileEnd.size() && name.ends_with(kFileEnd) ? Kind::file : Kind::none;
}

bool lock(int descriptor) { return flock(descriptor, LOCK_EX | LOCK_NB) == 0; }

// The lock is held during removal. So a creator that is about to lock the file sees that it is lost, and so
// does another process that removes leftovers, for which the name might already be a new file's.
void remove_if_left(int folder, const std::string& path, const std::string& name, Kind kind) {
  const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (kind == Kind::folder ? O_DIRECTORY : 0);
  const int descriptor = openat(folder, name.c_str(), flags);
  if (descriptor < 0) return;
  struct stat there {};
  const bool left = lock(descriptor) && fstat(descriptor, &there) == 0 && there.st_nlink > 0 &&
                    there.st_uid == geteuid() && (kind == Kind::folder || S_ISREG(there.st_mode));
  if (left && kind == Kind::file) unlinkat(folder, name.c_str(), 0);
  if (left && kind == Kind::folder) {
    std::error_code ignored;
    std::filesystem::remove_all(path + '/' + name, ignored);
  }
  ::close(descriptor);
}

// Whether this process has not checked the folder yet. After a fork the mutex may be locked forever.
bool is_new(int folder) {
  using Identity = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::uint32_t>;
  static std::mutex mutex;
  static std::set<Identity> seen;
  struct statx there {};
  const std::unique_lock locked(mutex, std::try_to_lock);
  if (!locked || statx(folder, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &there) != 0) return false;
  // The inode number of a deleted folder may be reused; its creation time is not.
  const std::uint64_t device = std::uint64_t{there.stx_dev_major} << 32 | there.stx_dev_minor;
  return seen.emplace(device, there.stx_ino, there.stx_btime.tv_sec, there.stx_btime.tv_nsec).second;
}

void look_through(int folder) {
  const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(fdopendir(copy), closedir);
  if (!open) {
    ::close(copy);
    return;
  }
  const std::string path = "/proc/self/fd/" + std::to_string(folder);
  while (const dirent* entry = readdir(open.get())) {
    const Kind kind = kind_of(entry->d_name);
    if (kind != Kind::none) remove_if_left(folder, path, entry->d_name, kind);
  }
}

}  // namespace

bool claim(int descriptor) {
  if (!lock(descriptor)) return errno != EWOULDBLOCK;
  struct stat there {};
  return fstat(descriptor, &there) != 0 || there.st_nlink > 0;
}

void remove_leftovers(int folder) noexcept {
  try {
    if (is_new(folder)) look_through(folder);
  } catch (const std::exception&) {
    // Out of memory: a later save will remove them.
  }
}

}  // namespace anybit
