// Writes a file that appears whole or not at all: a temporary file in the same folder, fsync, rename, fsync
// of the folder. Destroying it before commit() removes the temporary file and leaves the old one as it was.
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

// Where the symbolic links that `path` may end in lead to; that file need not exist.
Result<std::string> end_of_links(const std::string& path);

class AtomicFile {
 public:
  // A file that exists keeps its permissions, and its owner where the system lets us. A symbolic link stays:
  // the file it leads to is replaced; with Links::refuse it is an error instead. Folders, devices and files
  // that the user may not write are refused.
  static Result<AtomicFile> create(const std::string& path, Links links = Links::allow);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();

  // After an error nothing more can be written or committed, and the temporary file is gone. Bytes of a
  // mapped file that shrank are Code::data_lost, or zeros where they were read before: ask
  // MappedFile::intact() before commit().
  Result<void> write(std::span<const std::byte> bytes);
  Result<void> write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  Result<void> pad_to(std::uint64_t multiple);  // zeros up to the next multiple
  std::uint64_t position() const { return position_; }
  bool replaces() const { return replaces_; }  // there was a file of that name
  // Flushes to disk; the file is complete but still under its temporary name.
  Result<void> finish();
  // finish() if need be, then rename into place and fsync of the folder. If that last step fails the new file
  // is in place, whole; only a power cut could bring the old one back. The error says so.
  Result<void> commit();

 private:
  AtomicFile() = default;
  // Where `target` lies, and what lies there now; zeros if nothing does.
  Result<void> find(const std::string& target, struct stat& old);
  Result<void> open_temporary(const struct stat& old);
  Error failed(std::string_view action, int error_number);
  void discard();

  std::string path_;       // as the caller named it, for messages
  std::string name_;       // within the folder
  std::string temporary_;  // within the folder; empty once there is none
  int folder_ = -1;
  int descriptor_ = -1;
  int claim_ = -1;  // a copy of it, which keeps the lock (leftovers.hpp) when it is closed
  std::uint64_t position_ = 0;
  bool finished_ = false;
  bool replaces_ = false;
};

}  // namespace anybit
