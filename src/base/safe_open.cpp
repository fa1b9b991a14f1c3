#include "base/safe_open.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/try.hpp"

namespace anybit {
namespace {

constexpr int kRead = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
// Finds a file without opening it, which could trigger a device.
constexpr int kLook = O_PATH | O_CLOEXEC;

constexpr int kAttempts = 100;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

Error refused(const std::string& name, std::string_view rule, std::string hint = {}) {
  return error_at(Code::unsafe_path, {}, fmt::format("external data '{}' {}", shown(name), rule),
                  std::move(hint));
}

Error refused_link(const std::string& name, std::string_view rule) {
  return refused(name, rule, "if you trust the model's folder, allow links with --allow-linked-data");
}

// Path components, without empty ones and ".".
std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    if (!part.empty() && part != ".") parts.push_back(part);
    begin = end + 1;
  }
  return parts;
}

int openat2(int folder, const std::string& name, int flags, std::uint64_t resolve) {
  const open_how how{.flags = static_cast<std::uint64_t>(flags), .mode = 0, .resolve = resolve};
  return static_cast<int>(syscall(SYS_openat2, folder, name.c_str(), &how, sizeof how));
}

bool is_link(int folder, const std::string& part) {
  struct stat status {};
  return fstatat(folder, part.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
}

// openat2 with RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, emulated for kernels before 5.6 and for sandboxes that
// forbid it: opens one component after another, none of which may be a link. A link sets errno to ELOOP.
int open_by_parts(int folder, const std::string& name, int flags) {
  const std::vector<std::string> parts = parts_of(name);
  Descriptor at(-1);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const int from = i == 0 ? folder : at.get();
    const bool last = i + 1 == parts.size();
    const int next = openat(from, parts[i].c_str(), (last ? flags : kLook | O_DIRECTORY) | O_NOFOLLOW);
    if (next < 0) {
      if (errno == ENOTDIR) errno = is_link(from, parts[i]) ? ELOOP : ENOTDIR;
      return -1;
    }
    at = Descriptor(next);
  }
  return at.release();
}

bool lacks_openat2(int error_number) { return error_number == ENOSYS || error_number == EPERM; }

Result<Descriptor> open_once(const Folder& folder, const std::string& name, int flags, Links links) {
  const bool refuse = links == Links::refuse;
  const std::uint64_t resolve =
      RESOLVE_NO_MAGICLINKS | (refuse ? RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS : std::uint64_t{0});
  int found = -1;
  // EAGAIN: something was renamed concurrently, or another process holds a lease on the file, perhaps for
  // long.
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    found = openat2(folder.descriptor(), name, flags, resolve);
    if (found >= 0 || (errno != EAGAIN && errno != EINTR)) break;
  }
  if (found < 0 && lacks_openat2(errno)) {
    found = refuse ? open_by_parts(folder.descriptor(), name, flags)
                   : openat(folder.descriptor(), name.c_str(), flags);
  }
  if (found >= 0) return Descriptor(found);
  if (errno == ELOOP) {
    return refuse ? refused_link(name, "is reached through a symbolic link")
                  : refused(name, "is reached through symbolic links that lead nowhere");
  }
  if (errno == EXDEV) return refused(name, "leads out of the model's folder");
  return system_error("cannot open external data", name, errno);
}

Result<void> check_opened(int descriptor, const std::string& name, Links links) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return system_error("cannot open external data", name, errno);
  if (links == Links::refuse && S_ISLNK(status.st_mode)) return refused_link(name, "is a symbolic link");
  if (!S_ISREG(status.st_mode)) {
    return refused(name, S_ISDIR(status.st_mode) ? "is a folder, not a file" : "is not a regular file");
  }
  if (links == Links::refuse && status.st_nlink > 1) {
    return refused_link(name,
                        "has more than one name (a hard link): the other may lie outside the model's folder");
  }
  return {};
}

}  // namespace

Result<Folder> Folder::open(const std::string& path) {
  if (path.find('\0') != std::string::npos)
    return invalid_argument("a folder's name cannot hold a zero byte");
  Folder folder;
  folder.path_ = path.empty() ? "." : path;
  folder.descriptor_ = ::open(folder.path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder.descriptor_ < 0) return system_error("cannot open folder", folder.path_, errno);
  return folder;
}

Folder::Folder(Folder&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

Folder& Folder::operator=(Folder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Folder::~Folder() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> check_relative(const std::string& name) {
  if (name.empty()) return refused(name, "has an empty name");
  if (name.find('\0') != std::string::npos) return refused(name, "has a zero byte in its name");
  if (name.size() >= PATH_MAX) return refused(name, fmt::format("has a name of {} bytes", name.size()));
  const std::string hint = "external data lies in the model's folder or below it, under a relative name";
  if (name.front() == '/') return refused(name, "has an absolute path", hint);
  const std::vector<std::string> parts = parts_of(name);
  for (const std::string& part : parts) {
    if (part == "..") return refused(name, "has '..' in its path", hint);
  }
  const bool names_folder = parts.empty() || name.back() == '/' || name.ends_with("/.");
  if (names_folder) return refused(name, "is a folder, not a file", hint);
  return {};
}

// Checks before opening, so that no device or FIFO is ever opened; then checks again on the open file, which
// cannot be swapped.
Result<int> open_beneath(const Folder& folder, const std::string& name, Links links) {
  TRY(check_relative(name));
  const int stay = links == Links::refuse ? O_NOFOLLOW : 0;
  {
    const Descriptor seen = TRY(open_once(folder, name, kLook | stay, links));
    TRY(check_opened(seen.get(), name, links));
  }
  Descriptor file = TRY(open_once(folder, name, kRead | stay, links));
  TRY(check_opened(file.get(), name, links));
  return file.release();
}

}  // namespace anybit
