#include "io/onnx/data_names.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <vector>

#include "base/error.hpp"
#include "base/folder_names.hpp"
#include "base/mapped_file.hpp"
#include "base/path.hpp"

namespace anybit::onnx {
namespace {

namespace fs = std::filesystem;

// Names are tried in order, so the ones in use have low numbers: a model that is saved repeatedly alternates
// between the first two. Checking a few names is cheaper than listing the folder on every save.
constexpr int kNames = 1000, kInTurn = 2;

std::string data_name(const std::string& model_name, int number) {
  if (number == 0) return model_name + ".data";
  return fmt::format("{}.{:016x}.data", model_name, number);
}

enum class Found { nothing, file, other };

Found at(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return errno == ENOENT ? Found::nothing : Found::other;
  return S_ISREG(status.st_mode) ? Found::file : Found::other;
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

// "m.onnx", "m.onnx.bak", "m.ONNX"; not data files, which may be large and mention no names.
bool is_model_name(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name.find(".onnx") != std::string::npos && !name.ends_with(".data");
}

bool mentioned_in(const fs::path& folder, const std::string& name) {
  const auto names = names_in(folder.string());
  if (!names.ok()) return true;
  return std::ranges::any_of(*names, [&](const std::string& one) {
    std::error_code ignored;
    return is_model_name(one) && fs::is_regular_file(folder / one, ignored) && mentions(folder / one, name);
  });
}

}  // namespace

Result<std::string> free_data_name(const std::string& folder, const std::string& model_name) {
  for (int number = 0; number < kNames; ++number) {
    std::string name = data_name(model_name, number);
    if (at(folder + '/' + name) == Found::nothing) return name;
  }
  return error_at(Code::io, {},
                  fmt::format("too many files are named '{}.….data' in '{}'", model_name, folder),
                  "remove the ones that no model uses");
}

std::vector<std::string> data_names_of(const std::string& path) {
  const std::string folder = folder_of(path), model_name = file_name_of(path);
  std::vector<std::string> names;
  for (int number = 0, missed = 0; number < kNames && missed < kInTurn; ++number) {
    std::string name = data_name(model_name, number);
    const Found found = at(folder + '/' + name);
    missed = found == Found::nothing ? missed + 1 : 0;
    // Names with a number are only made by anybit; a name without one may belong to another program.
    if (found == Found::file && (number > 0 || mentions(path, name))) names.push_back(std::move(name));
  }
  return names;
}

void remove_stale_data(const std::string& folder, const std::vector<std::string>& names,
                       const std::string& keep) {
  for (const std::string& name : names) {
    if (name != keep && !mentioned_in(folder, name)) ::unlink((folder + '/' + name).c_str());
  }
}

}  // namespace anybit::onnx
