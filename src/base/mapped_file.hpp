// A read-only memory-mapped file. If the file shrinks or its disk fails while it is mapped, the operating
// system raises SIGBUS; a handler then maps zero pages and marks the file lost, so that the reader can return
// an error instead of crashing. Other SIGBUS signals are passed to the previous handler.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>

#include "anybit/result.hpp"
#include "base/bytes.hpp"

namespace anybit {

class MappedFile : public std::enable_shared_from_this<MappedFile> {
 public:
  // Follows symbolic links: the caller named this file. External data is opened by open_beneath().
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  // Takes ownership of the descriptor, also on failure. `path` is for messages.
  static Result<std::shared_ptr<const MappedFile>> from_descriptor(int descriptor, std::string path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  // Whether this file is still the one at the path.
  bool is_at(const std::string& path) const;
  // The bytes keep the file alive.
  Bytes bytes() const;
  // An error if a page could not be read since the file was mapped, or if the file was modified. Check this
  // last, after producing results from the bytes and before reporting success.
  Result<void> intact() const;

 private:
  MappedFile() = default;
  Result<void> map();
  Result<void> copy();
  void close_descriptor();

  std::string path_;
  int descriptor_ = -1;  // -1 if the bytes are a copy
  struct stat status_ {};
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  int slot_ = -1;
};

}  // namespace anybit
