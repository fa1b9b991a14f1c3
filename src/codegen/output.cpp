#include "codegen/output.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <new>
#include <utility>

#include "base/error.hpp"
#include "base/folder_names.hpp"
#include "base/leftovers.hpp"
#include "base/try.hpp"

namespace anybit::codegen {
namespace {

namespace fs = std::filesystem;

// Flushes a file or a folder to disk.
Result<void> flush(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return system_error("cannot write", path, errno);
  int result = 0;
  do {
    result = fsync(descriptor);
  } while (result != 0 && errno == EINTR);
  const int why = errno;
  ::close(descriptor);
  // EINVAL: this file system has no fsync for folders.
  if (result != 0 && why != EINVAL) return system_error("cannot write", path, why);
  return {};
}

}  // namespace

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat one {
  }, other{};
  return ::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

Result<Output> Output::make(const std::string& path, std::string_view extension,
                            std::vector<std::string> kept) {
  const fs::path whole(path);
  if (path.empty() || path.find('\0') != std::string::npos || !whole.has_filename() ||
      whole.filename() == "." || whole.filename() == "..")
    return invalid_argument(fmt::format("cannot write '{}': that names no file", shown(path)));
  Output output;
  // Absolute paths: the generator runs in this process and may change the working directory.
  std::error_code failed;
  output.folder_ = fs::absolute(whole, failed).parent_path().string();
  for (std::string& one : kept) one = fs::absolute(one, failed).string();
  if (failed) return system_error("cannot write", path, failed.value());
  output.name_ = whole.filename().string();
  output.stem_ = output.name_.ends_with(extension) && output.name_.size() > extension.size()
                     ? output.name_.substr(0, output.name_.size() - extension.size())
                     : whole.stem().string();
  output.kept_ = std::move(kept);
  TRY(output.check_target(output.name_));
  TRY(output.make_stage(path));
  return output;
}

Result<void> Output::make_stage(const std::string& path) {
  const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return system_error("cannot write", path, errno);
  remove_leftovers(folder);
  ::close(folder);
  do {
    if (claim_ >= 0) ::close(claim_);
    // mkdtemp replaces the six X.
    std::string stage = folder_ + "/.anybit-" + std::string(6, 'X');
    if (!mkdtemp(stage.data())) return system_error("cannot write", path, errno);
    stage_ = std::move(stage);
    claim_ = ::open(stage_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (claim_ < 0 && errno != ENOENT) return system_error("cannot write", path, errno);
  } while (claim_ < 0 || !claim(claim_));
  return {};
}

Output::Output(Output&& other) noexcept
    : folder_(std::move(other.folder_)),
      name_(std::move(other.name_)),
      stem_(std::move(other.stem_)),
      stage_(std::exchange(other.stage_, {})),
      claim_(std::exchange(other.claim_, -1)),
      kept_(std::move(other.kept_)) {}

Output::~Output() {
  // Removing a folder allocates memory. After two failures the folder is left to the next run that writes
  // there.
  for (int tries = 0; tries < 2 && !stage_.empty(); ++tries) {
    try {
      std::error_code failed;
      fs::remove_all(stage_, failed);
      if (!failed) break;
    } catch (const std::bad_alloc&) {
      continue;
    }
  }
  if (claim_ >= 0) ::close(claim_);
}

// The target must be absent, or a regular file that does not belong to the model.
Result<void> Output::check_target(const std::string& name) const {
  const std::string path = folder_ + '/' + name;
  struct stat there {};
  if (::lstat(path.c_str(), &there) != 0) {
    if (errno == ENOENT) return {};
    return system_error("cannot write", path, errno);
  }
  if (S_ISDIR(there.st_mode) || (!S_ISREG(there.st_mode) && !S_ISLNK(there.st_mode)))
    return error_at(Code::io, {},
                    fmt::format("cannot write '{}': it is {}", shown(path),
                                S_ISDIR(there.st_mode) ? "a folder" : "not a regular file"));
  const bool is_kept =
      std::ranges::any_of(kept_, [&](const std::string& one) { return is_same_file(one, path); });
  if (is_kept)
    return invalid_argument(fmt::format("cannot write '{}': the model lies in it", shown(path)),
                            "another path for what is generated");
  // rename() needs no permission to write the old file, but write protection is respected.
  if (S_ISREG(there.st_mode) && ::access(path.c_str(), W_OK) != 0)
    return system_error("cannot write", path, errno);
  return {};
}

// Lists and checks the written files; the requested one comes last.
Result<std::vector<Output::Move>> Output::staged_files() const {
  std::vector<Move> files;
  bool complete = false;
  for (const std::string& name : TRY(names_in(stage_))) {
    struct stat there {};
    if (::lstat((stage_ + '/' + name).c_str(), &there) != 0 || !S_ISREG(there.st_mode))
      return error_at(Code::io, {}, fmt::format("'{}' was written, which is no regular file", shown(name)));
    if (!name.starts_with(stem_))
      return error_at(Code::io, {}, fmt::format("'{}' was written", shown(name)),
                      fmt::format("names begin with '{}'", shown(stem_)));
    complete = complete || name == name_;
    if (name != name_) files.push_back({name});
  }
  if (!complete) return error_at(Code::io, {}, fmt::format("'{}' was not written", shown(name_)));
  files.push_back({name_});
  return files;
}

Result<void> Output::move(Move& file) const {
  const std::string from = stage_ + '/' + file.name, to = folder_ + '/' + file.name;
  // Exchange with an old file, so that undo() can restore it.
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) {
    file.exchanged = true;
    return {};
  }
  // ENOENT: there was no old file. Other errors: the file system does not support exchange.
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  return system_error("cannot write", to, errno);
}

void Output::undo(const std::vector<Move>& moved) const {
  for (const Move& one : moved) {
    const std::string from = stage_ + '/' + one.name, to = folder_ + '/' + one.name;
    if (one.exchanged) {
      renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE);
    } else {
      ::unlink(to.c_str());
    }
  }
}

Result<void> Output::commit() {
  auto files = TRY(staged_files());
  for (const Move& one : files) {
    TRY(check_target(one.name));
    TRY(flush(stage_ + '/' + one.name));
  }
  std::vector<Move> moved;
  for (Move& one : files) {
    auto done = move(one);
    if (!done.ok()) {
      undo(moved);
      return done;
    }
    moved.push_back(one);
  }
  if (flush(folder_).ok()) return {};
  return error_at(Code::io, {},
                  fmt::format("the new files are in place, but may not survive a power cut: cannot flush "
                              "the folder of '{}'",
                              shown(folder_ + '/' + name_)));
}

}  // namespace anybit::codegen
