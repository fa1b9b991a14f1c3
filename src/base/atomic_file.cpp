#include "base/atomic_file.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <utility>

#include "base/error.hpp"
#include "base/file_size_signal.hpp"
#include "base/leftovers.hpp"
#include "base/path.hpp"
#include "base/try.hpp"

namespace anybit {
namespace {

constexpr std::size_t kLargestWrite = std::size_t{1} << 30;
constexpr int kLinksFollowed = 40;  // as many as the kernel

// Drawn once: a system call per file would cost as much as writing a small model.
std::uint64_t secret() {
  std::uint64_t random = 0;
  if (getrandom(&random, sizeof random, 0) == sizeof random) return random;
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) ^
         static_cast<std::uint64_t>(getpid()) << 48;
}

// Unpredictable, so that nobody can create the file first; O_EXCL makes sure.
std::string temporary_name() {
  static std::atomic<std::uint64_t> next{secret()};
  std::uint64_t mixed = next.fetch_add(0x9e3779b97f4a7c15);  // splitmix64: no duplicates
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
  return fmt::format(".anybit-{:016x}.tmp", mixed ^ mixed >> 31);
}

int flush(int descriptor) {
  int result = 0;
  do {
    result = fsync(descriptor);
  } while (result != 0 && errno == EINTR);
  return result;
}

}  // namespace

Result<std::string> end_of_links(const std::string& path) {
  std::string at = path;
  for (int i = 0; i < kLinksFollowed; ++i) {
    char target[PATH_MAX];
    const ssize_t length = readlink(at.c_str(), target, sizeof target);
    if (length < 0) return at;
    const std::string text(target, static_cast<std::size_t>(length));
    at = text.starts_with('/') ? text : folder_of(at) + '/' + text;
  }
  return system_error("cannot write", path, ELOOP);
}

Result<AtomicFile> AtomicFile::create(const std::string& path, Links links) {
  if (path.empty() || path.find('\0') != std::string::npos || path.back() == '/') {
    return invalid_argument(fmt::format("cannot write '{}': that names no file", shown(path)));
  }
  AtomicFile file;
  file.path_ = path;
  struct stat old {};
  TRY(file.find(path, old));
  if (links == Links::allow && S_ISLNK(old.st_mode)) TRY(file.find(TRY(end_of_links(path)), old));
  TRY(file.open_temporary(old));
  return file;
}

Result<void> AtomicFile::find(const std::string& target, struct stat& old) {
  if (folder_ >= 0) ::close(folder_);
  name_ = file_name_of(target);
  folder_ = ::open(folder_of(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_ < 0) return failed("cannot write", errno);
  replaces_ = fstatat(folder_, name_.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0;
  if (!replaces_ && errno != ENOENT) return failed("cannot write", errno);
  if (!replaces_) old = {};
  return {};
}

Result<void> AtomicFile::open_temporary(const struct stat& old) {
  if (replaces_ && !S_ISREG(old.st_mode)) {
    return error_at(Code::io, {},
                    fmt::format("cannot write '{}': it is {}", shown(path_),
                                S_ISDIR(old.st_mode) ? "a folder" : "not a regular file"));
  }
  remove_leftovers(folder_);
  const mode_t mode = replaces_ ? old.st_mode & 0777 : 0666;
  do {
    if (descriptor_ >= 0) ::close(descriptor_);
    temporary_ = temporary_name();
    descriptor_ = openat(folder_, temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  } while (descriptor_ < 0 ? errno == EEXIST || errno == EINTR : !claim(descriptor_));
  if (descriptor_ < 0) {
    const int error_number = errno;
    temporary_.clear();
    return failed("cannot write", error_number);
  }
  if (!replaces_) return {};
  struct stat fresh {};
  if (fstat(descriptor_, &fresh) != 0) return failed("cannot write", errno);
  // Renaming needs no permission to write the old file, but its protection must hold.
  const bool ours = fresh.st_uid == old.st_uid && (old.st_mode & S_IWUSR) != 0;
  if (!ours && faccessat(folder_, name_.c_str(), W_OK, AT_EACCESS) != 0) return failed("cannot write", errno);
  if (fresh.st_uid == old.st_uid && fresh.st_gid == old.st_gid && (fresh.st_mode & 0777) == mode) return {};
  const bool owner_kept = fchown(descriptor_, old.st_uid, old.st_gid) == 0;
  // The group permissions were meant for the old group.
  const mode_t kept = owner_kept || old.st_gid == getegid() ? mode : mode & 0707;
  if (fchmod(descriptor_, kept) != 0) return failed("cannot write", errno);
  return {};
}

Error AtomicFile::failed(std::string_view action, int error_number) {
  discard();
  return system_error(action, path_, error_number);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept { *this = std::move(other); }

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  if (this == &other) return *this;
  discard();
  path_ = std::move(other.path_);
  name_ = std::move(other.name_);
  temporary_ = std::exchange(other.temporary_, {});
  folder_ = std::exchange(other.folder_, -1);
  descriptor_ = std::exchange(other.descriptor_, -1);
  claim_ = std::exchange(other.claim_, -1);
  position_ = other.position_;
  finished_ = std::exchange(other.finished_, false);
  replaces_ = other.replaces_;
  return *this;
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (!temporary_.empty()) unlinkat(folder_, temporary_.c_str(), 0);
  temporary_.clear();
  if (claim_ >= 0) ::close(std::exchange(claim_, -1));
  if (folder_ >= 0) ::close(std::exchange(folder_, -1));
}

Result<void> AtomicFile::write(std::span<const std::byte> bytes) {
  if (descriptor_ < 0) {
    return error_at(Code::invalid_state, {}, fmt::format("'{}' is not open for writing", shown(path_)));
  }
  const NoFileSizeSignal no_signal;
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kLargestWrite));
    if (count < 0 && errno == EINTR) continue;
    // The kernel read a mapped page that is gone: that gives a bad address instead of a signal.
    if (count < 0 && errno == EFAULT) {
      discard();
      return error_at(
          Code::data_lost, {},
          fmt::format("cannot write '{}': the file that its data comes from became shorter or could "
                      "not be read",
                      shown(path_)));
    }
    if (count <= 0) return failed("cannot write", count < 0 ? errno : EIO);
    position_ += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Result<void> AtomicFile::pad_to(std::uint64_t multiple) {
  assert(multiple > 0);
  static constexpr std::byte kZeros[4096] = {};
  std::uint64_t left = (multiple - position_ % multiple) % multiple;
  while (left > 0) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left, sizeof kZeros));
    TRY(write(std::span(kZeros, count)));
    left -= count;
  }
  return {};
}

Result<void> AtomicFile::finish() {
  if (finished_) return {};
  if (descriptor_ < 0) {
    return error_at(Code::invalid_state, {}, fmt::format("'{}' is not open for writing", shown(path_)));
  }
  if (flush(descriptor_) != 0) return failed("cannot write", errno);
  // The lock must last until the file has its final name; without a duplicate, another process could take the
  // file for a leftover.
  claim_ = fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
  if (claim_ < 0) return failed("cannot write", errno);
  // Linux closes the descriptor even when close() is interrupted.
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) return failed("cannot write", errno);
  finished_ = true;
  return {};
}

Result<void> AtomicFile::commit() {
  TRY(finish());
  finished_ = false;
  if (renameat(folder_, temporary_.c_str(), folder_, name_.c_str()) != 0)
    return failed("cannot write", errno);
  temporary_.clear();
  // EINVAL: this file system has no fsync for folders.
  if (flush(folder_) != 0 && errno != EINVAL) {
    return failed("the new file is in place, but may not survive a power cut: cannot flush the folder of",
                  errno);
  }
  discard();
  return {};
}

}  // namespace anybit
