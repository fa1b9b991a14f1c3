#include "device/ranges.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "base/try.hpp"

namespace anybit {
namespace {

// Locks the folder of a file against other writers, without leaving a lock file.
class FolderLock {
 public:
  static Result<FolderLock> take(const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    FolderLock lock;
    lock.descriptor_ = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock.descriptor_ < 0) return system_error("cannot open the folder of", path, errno);
    while (::flock(lock.descriptor_, LOCK_EX) != 0) {
      if (errno != EINTR) return system_error("cannot lock the folder of", path, errno);
    }
    return lock;
  }
  FolderLock(FolderLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  ~FolderLock() {
    // Invalid in a Result that holds an error.
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult)
    if (descriptor_ >= 0) ::close(descriptor_);
  }

 private:
  FolderLock() = default;
  int descriptor_ = -1;
};

// Allocates the memory that a merge needs, so that the merge cannot fail half-way.
void make_room(std::map<std::string, calibrate::Statistics>& tensors,
               const std::map<std::string, calibrate::Statistics>& more) {
  for (const auto& [name, one] : more) tensors[name].make_room(one);
}

}  // namespace

DeviceRanges::DeviceRanges(std::string model, std::string path) : path_(std::move(path)) {
  fresh_.model = std::move(model);
}

Result<void> DeviceRanges::add(std::map<std::string, calibrate::Statistics> tensors) {
  if (fresh_.samples == 0) {
    fresh_.tensors = std::move(tensors);
    fresh_.samples = 1;
    return {};
  }
  make_room(fresh_.tensors, tensors);
  for (auto& [name, one] : tensors) {
    if (one.extent.bad_sample >= 0)
      one.extent.bad_sample = fresh_.samples;  // numbering continues over the runs of a session
    TRY(fresh_.tensors[name].merge(one));
  }
  ++fresh_.samples;
  return {};
}

Result<DeviceRanges::File> DeviceRanges::read() const {
  if (path_.empty()) return File{};
  auto found = calibrate::load_ranges(path_);
  if (!found.ok() && found.error().code == Code::not_found) return File{};
  if (!found.ok()) return std::move(found).error();
  if (found->model != fresh_.model) return File{{}, true};
  return File{std::move(found).value(), false};
}

Result<calibrate::Ranges> DeviceRanges::together(std::optional<calibrate::Ranges> old) const {
  if (!old) return fresh_;
  auto merged = calibrate::merge(*old, fresh_);
  if (!merged.ok()) return std::move(merged).error().within(path_);
  return *std::move(old);
}

Result<std::int64_t> DeviceRanges::runs() {
  if (!runs_saved_) {
    const File file = TRY(read());
    runs_saved_ = file.ranges ? file.ranges->samples : 0;
  }
  return *runs_saved_ + fresh_.samples;
}

Result<calibrate::Ranges> DeviceRanges::all() const {
  File file = TRY(read());
  const bool stale = file.stale;
  auto ranges = TRY(together(std::move(file.ranges)));
  if (ranges.samples > 0) return ranges;
  return error_at(Code::invalid_state, {},
                  stale ? fmt::format("the ranges in '{}' are of another model, or of this one before it "
                                      "was changed",
                                      shown(path_))
                        : "no ranges have been gathered",
                  "run the model with ANYBIT_GATHER_RANGES before, or quantize weights only");
}

Result<void> DeviceRanges::save() {
  if (path_.empty() || saved()) return {};
  const FolderLock held = TRY(FolderLock::take(path_));
  File file = TRY(read());
  const auto ranges = TRY(together(std::move(file.ranges)));
  TRY(calibrate::save_ranges(ranges, path_));
  runs_saved_ = ranges.samples;
  fresh_.samples = 0;
  fresh_.tensors.clear();
  return {};
}

Result<void> DeviceRanges::reset() {
  if (!path_.empty()) {
    const FolderLock held = TRY(FolderLock::take(path_));
    if (::unlink(path_.c_str()) != 0 && errno != ENOENT) return system_error("remove", path_, errno);
  }
  runs_saved_ = 0;
  fresh_.samples = 0;
  fresh_.tensors.clear();
  return {};
}

}  // namespace anybit
