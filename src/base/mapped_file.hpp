// A file mapped for reading. If the file shrinks, or its disk fails, while it is mapped, the operating system
// raises SIGBUS; a handler puts zero pages there instead and marks the file lost, so that whoever read from
// it can answer with an error instead of crashing. Signals that are not ours go to the handler that was there
// before.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>

#include "anybit/result.hpp"
#include "base/bytes.hpp"

namespace anybit {

class MappedFile : public std::enable_shared_from_this<MappedFile> {
 public:
  // Follows symbolic links: the caller named this file. External data goes through open_beneath().
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  // Takes over the descriptor, also when it fails. `path` is for messages.
  static Result<std::shared_ptr<const MappedFile>> from_descriptor(int descriptor, std::string path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  // Whether it is this file that has the path now.
  bool is_at(const std::string& path) const;
  // The bytes keep the file alive.
  Bytes bytes() const;
  // An error if a page could not be read since the file was mapped, or if somebody has written to the file
  // since. Whoever has turned the bytes into something lasting asks this last, before saying that it went
  // well.
  Result<void> intact() const;

 private:
  MappedFile() = default;
  Result<void> map();
  Result<void> copy();
  void close_descriptor();

  std::string path_;
  int descriptor_ = -1;  // -1 when the bytes are a copy
  struct stat status_ {};
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  int slot_ = -1;
};

}  // namespace anybit
