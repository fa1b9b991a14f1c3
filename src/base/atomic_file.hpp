// Writes a file atomically: a temporary file in the same folder, fsync, rename, fsync of the folder.
// Destroying it before commit() removes the temporary file and leaves the old file unchanged.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "anybit/result.hpp"
#include "base/bytes.hpp"
#include "base/safe_open.hpp"

namespace anybit {

// The target of `path` after all symbolic links; it need not exist.
Result<std::string> end_of_links(const std::string& path);

class AtomicFile {
 public:
  // An existing file keeps its permissions, and its owner if the system allows it. A symbolic link stays and
  // its target is replaced; with Links::refuse it is an error. Folders, devices and files that the user may
  // not write are rejected.
  static Result<AtomicFile> create(const std::string& path, Links links = Links::allow);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();

  // After an error nothing can be written or committed, and the temporary file is gone. Data from a mapped
  // file that shrank give Code::data_lost, or zeros if the pages were read before: check MappedFile::intact()
  // before commit().
  Result<void> write(std::span<const std::byte> bytes);
  Result<void> write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  Result<void> pad_to(std::uint64_t multiple);  // zeros up to the next multiple
  std::uint64_t position() const { return position_; }
  bool replaces() const { return replaces_; }  // whether a file of that name existed
  // Flushes to disk; the file is complete but still under its temporary name.
  Result<void> finish();
  // finish() if needed, then rename and fsync of the folder. If that last fsync fails, the new file is in
  // place and complete, but a power loss could bring the old one back. The error says so.
  Result<void> commit();

 private:
  AtomicFile() = default;
  // Finds the folder and name of `target` and its status; zeros if it does not exist.
  Result<void> find(const std::string& target, struct stat& old);
  Result<void> open_temporary(const struct stat& old);
  Error failed(std::string_view action, int error_number);
  void discard();

  std::string path_;       // as given by the caller, for messages
  std::string name_;       // within the folder
  std::string temporary_;  // within the folder; empty if there is none
  int folder_ = -1;
  int descriptor_ = -1;
  int claim_ = -1;  // duplicate descriptor that keeps the lock (leftovers.hpp) after close
  std::uint64_t position_ = 0;
  bool finished_ = false;
  bool replaces_ = false;
};

}  // namespace anybit
