#include "onnx/data_names.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <vector>

#include "base/error.hpp"
#include "base/mapped_file.hpp"

namespace anybit::onnx {
namespace {

namespace fs = std::filesystem;

// Names are tried in order, so those in use have low numbers; a failed save may leave a gap. Looking a little
// further than the last is cheaper than listing the folder on every save.
constexpr int kNames = 1000, kGap = 4;

std::string data_name(const std::string& model_name, int number) {
  if (number == 0) return model_name + ".data";
  return fmt::format("{}.{:016x}.data", model_name, number);
}

bool taken(const fs::path& path) {
  std::error_code ignored;
  return fs::symlink_status(path, ignored).type() != fs::file_type::not_found;
}

bool mentions(const fs::path& path, const std::string& name) {
  const auto file = MappedFile::open(path.string());
  if (!file.ok()) return true;
  const Bytes bytes = (*file)->bytes();
  const std::string_view text = bytes.text();
  const auto found =
      std::search(text.begin(), text.end(), std::boyer_moore_horspool_searcher(name.begin(), name.end()));
  return found != text.end() || !(*file)->intact().ok();
}

bool mentioned_in(const fs::path& folder, const std::string& name) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().extension() != ".onnx" || !entry->is_regular_file(ignored)) continue;
    if (mentions(entry->path(), name)) return true;
  }
  return static_cast<bool>(error);
}

}  // namespace

Result<std::string> free_data_name(const std::string& folder, const std::string& model_name) {
  for (int number = 0; number < kNames; ++number) {
    std::string name = data_name(model_name, number);
    if (!taken(fs::path(folder) / name)) return name;
  }
  return error_at(Code::io, {},
                  fmt::format("too many files are named '{}.….data' in '{}'", model_name, folder),
                  "remove those that no model uses");
}

void remove_stale_data(const std::string& folder, const std::string& model_name, const std::string& keep) {
  for (int number = 0, missed = 0; number < kNames && missed < kGap; ++number) {
    const std::string name = data_name(model_name, number);
    const fs::path path = fs::path(folder) / name;
    std::error_code error;
    const fs::file_type type = fs::symlink_status(path, error).type();
    missed = type == fs::file_type::not_found ? missed + 1 : 0;
    if (type == fs::file_type::regular && name != keep && !mentioned_in(folder, name))
      fs::remove(path, error);
  }
}

}  // namespace anybit::onnx
