#include "base/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <new>

#include "base/error.hpp"
#include "base/sigbus_guard.hpp"
#include "base/try.hpp"

namespace anybit {
namespace {

// A model can store each tensor in its own file. Small files are read, so that thousands of them need neither
// descriptors nor mappings.
constexpr std::size_t kSmall = std::size_t{64} << 10;
constexpr std::size_t kLargestRead = std::size_t{1} << 30;

Error lost(const std::string& path, std::string_view how) {
  return error_at(Code::data_lost, {}, fmt::format("'{}' {} while it was in use", shown(path), how),
                  "start again once nothing writes to the file");
}

bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  if (path.find('\0') != std::string::npos) return invalid_argument("a file's name cannot hold a zero byte");
  // O_NONBLOCK: otherwise opening a FIFO waits for a writer; no effect on regular files.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return system_error("cannot open", path, errno);
  return from_descriptor(descriptor, path);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::from_descriptor(int descriptor, std::string path) {
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->descriptor_ = descriptor;
  file->path_ = std::move(path);
  if (fstat(descriptor, &file->status_) != 0) return system_error("cannot read", file->path_, errno);
  if (!S_ISREG(file->status_.st_mode)) {
    return error_at(Code::io, {},
                    fmt::format("cannot read '{}': it is {}", shown(file->path_),
                                S_ISDIR(file->status_.st_mode) ? "a folder" : "not a regular file"));
  }
  const auto size = static_cast<std::uint64_t>(file->status_.st_size);
  if (size > std::numeric_limits<std::ptrdiff_t>::max())
    return system_error("cannot map", file->path_, EFBIG);
  if (size <= kSmall) {
    TRY(file->copy());
  } else {
    TRY(file->map());
  }
  return std::shared_ptr<const MappedFile>(std::move(file));
}

Result<void> MappedFile::map() {
  const auto size = static_cast<std::size_t>(status_.st_size);
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor_, 0);
  if (memory == MAP_FAILED) {
    if (errno == ENODEV) return copy();  // this file system cannot map
    return system_error("cannot map", path_, errno);
  }
  slot_ = guard_against_sigbus({static_cast<std::byte*>(memory), size});
  if (slot_ < 0) {
    munmap(memory, size);
    return copy();
  }
  data_ = static_cast<std::byte*>(memory);
  size_ = size;
  return {};
}

// A copy is safe from changes of the file.
Result<void> MappedFile::copy() {
  const auto size = static_cast<std::size_t>(status_.st_size);
  if (size > 0) {
    data_ = new (std::nothrow) std::byte[size];
    if (data_ == nullptr) return system_error("cannot read", path_, ENOMEM);
    size_ = size;
  }
  for (std::size_t done = 0; done < size;) {
    const ssize_t count =
        pread(descriptor_, data_ + done, std::min(size - done, kLargestRead), static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("cannot read", path_, errno);
    if (count == 0) return lost(path_, "became shorter");
    done += static_cast<std::size_t>(count);
  }
  close_descriptor();
  return {};
}

void MappedFile::close_descriptor() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

MappedFile::~MappedFile() {
  if (slot_ >= 0) {
    stop_guarding(slot_);
    munmap(data_, size_);
  } else {
    delete[] data_;
  }
  close_descriptor();
}

Bytes MappedFile::bytes() const { return {shared_from_this(), {data_, size_}}; }

bool MappedFile::is_at(const std::string& path) const {
  struct stat there {};
  return ::stat(path.c_str(), &there) == 0 && there.st_dev == status_.st_dev &&
         there.st_ino == status_.st_ino;
}

Result<void> MappedFile::intact() const {
  if (slot_ < 0) return {};
  if (was_lost(slot_)) return lost(path_, "became shorter or could not be read");
  struct stat now {};
  if (fstat(descriptor_, &now) != 0) return system_error("cannot read", path_, errno);
  if (now.st_size < status_.st_size) return lost(path_, "became shorter");
  if (now.st_size != status_.st_size || !same_time(now.st_mtim, status_.st_mtim))
    return lost(path_, "was changed");
  return {};
}

}  // namespace anybit
