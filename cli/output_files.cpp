#include "output_files.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "anybit/npy.hpp"
#include "anybit/write_file.hpp"
#include "widened.hpp"

namespace anybit::cli {
namespace {

namespace fs = std::filesystem;

// Every character outside A–Z a–z 0–9 . _ - becomes '_'.
std::string file_name(const std::string& name) {
  std::string result = name;
  for (char& c : result) {
    const bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-';
    if (!plain) c = '_';
  }
  return result.empty() || result[0] == '.' ? "_" + result : result;
}

// Types that numpy lacks are widened; strings are written one per line.
Result<void> write_value(const std::string& path, const Value& value, std::vector<std::string>& written) {
  if (value.kind == Value::Kind::nothing) return {};
  if (value.kind == Value::Kind::sequence) {
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      auto done = write_value(fmt::format("{}.{}", path, i), value.items[i], written);
      if (!done.ok()) return done;
    }
    return {};
  }
  if (value.tensor.type == "string") {
    written.push_back(path + ".txt");
    return write_file(written.back(), fmt::format("{}\n", fmt::join(value.strings, "\n")));
  }
  const auto array = widened(value.tensor);
  if (!array.ok()) return array.error();
  written.push_back(path + ".npy");
  return write_npy(written.back(), *array);
}

Result<void> make_folder(const fs::path& folder) {
  std::error_code code;
  fs::create_directories(folder, code);
  if (!code) return {};
  return Error{
      Code::io, fmt::format("cannot make the folder '{}': {}", folder.string(), code.message()), {}, {}};
}

}  // namespace

OutputFiles::OutputFiles(std::string folder, const std::vector<Port>& outputs,
                         std::optional<std::int64_t> samples)
    : folder_(std::move(folder)),
      single_(samples == 1),
      digits_(static_cast<int>(std::to_string(samples.value_or(1) - 1).size())) {
  std::set<std::string> used;
  for (const Port& port : outputs) {
    std::string file = file_name(port.name);
    while (!used.insert(file).second) file += "_";  // two names may map to the same file
    outputs_.push_back({port.name, std::move(file)});
  }
}

Result<std::vector<std::string>> OutputFiles::write(const std::vector<Value>& values,
                                                    const std::string& source) {
  std::vector<std::string> written;
  const std::string sample =
      fmt::format("{:0{}}-{}", number_++, digits_, file_name(fs::path(source).stem().string()));
  if (auto made = make_folder(folder_); !made.ok()) return std::move(made).error();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const fs::path path = fs::path(folder_) / outputs_[i].file;
    Result<void> done;
    if (!single_) done = make_folder(path);
    if (done.ok()) done = write_value((single_ ? path : path / sample).string(), values[i], written);
    if (!done.ok()) return std::move(done).error().within(fmt::format("output '{}'", outputs_[i].name));
  }
  return written;
}

}  // namespace anybit::cli
