// Opens files that a model names. Such names are untrusted: they may only lead to a regular file beneath the
// model's folder, without passing through a link.
#pragma once

#include <string>

#include "anybit/result.hpp"

namespace anybit {

// An open folder. Files are opened relative to it, so that renaming the folder has no effect.
class Folder {
 public:
  // An empty path is the current folder, as for "model.onnx".
  static Result<Folder> open(const std::string& path);
  Folder(Folder&& other) noexcept;
  Folder& operator=(Folder&& other) noexcept;
  ~Folder();

  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }

 private:
  Folder() = default;
  std::string path_;
  int descriptor_ = -1;
};

enum class Links { refuse, allow };

// Whether the text of `name` is a relative path that stays beneath its folder: not absolute, no "..", not
// empty.
Result<void> check_relative(const std::string& name);

// A read-only descriptor of a regular file beneath `folder`. Links::refuse: openat2 with RESOLVE_BENEATH and
// RESOLVE_NO_SYMLINKS, then fstat on the open file, so that nothing can be swapped between check and use;
// hard links are rejected, too. Links::allow, for package caches that use links: only the text is checked,
// and that the file is regular. Never blocks on a FIFO or device.
Result<int> open_beneath(const Folder& folder, const std::string& name, Links links);

}  // namespace anybit
