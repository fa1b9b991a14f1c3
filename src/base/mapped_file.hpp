// A file mapped for reading. If the file shrinks, or its disk fails, while it is mapped, the operating system
// raises SIGBUS; a handler puts zero pages there instead and marks the file lost, so that whoever read from it can
// answer with an error instead of crashing. Signals that are not ours go to the handler that was there before.
#pragma once

#include <memory>
#include <string>

#include "anybit/result.hpp"
#include "base/bytes.hpp"

namespace anybit {

class MappedFile : public std::enable_shared_from_this<MappedFile> {
 public:
  // Follows symbolic links: the caller named this file. External data goes through open_beneath().
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  // Takes over the descriptor. `path` is for messages.
  static Result<std::shared_ptr<const MappedFile>> from_descriptor(int descriptor, std::string path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  Bytes bytes() const;
  // An error if a page could not be read since the file was mapped, or if the file is now shorter than it was.
  Result<void> intact() const;

 private:
  MappedFile() = default;
  std::string path_;
  int descriptor_ = -1;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  int slot_ = -1;
};

}  // namespace anybit
