#include "api/sample_file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>

#include "api/sample_image.hpp"
#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/folder_names.hpp"
#include "base/mapped_file.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"
#include "graph/element_type.hpp"
#include "images/image.hpp"

namespace anybit {
namespace {

namespace fs = std::filesystem;

std::string known_kinds() { return ".npy, .npz, .pb, .bin, or an image: " + images::known_formats(); }

bool is_sample(const std::string& name) {
  static constexpr std::string_view kEndings[] = {".npy", ".npz", ".pb", ".bin", ".raw"};
  if (name.starts_with(".")) return false;
  return images::has_image_ending(name) ||
         std::ranges::find(kEndings, fs::path(name).extension().string()) != std::end(kEndings);
}

// Raw elements; the file's size must be a multiple of one sample. `whole`: an unknown batch size covers the
// whole file.
Result<Value> read_raw(const std::string& path, const Port& port, bool whole) {
  const graph::ElementTypeInfo* type = graph::find_element_type(port.element_type);
  std::vector<std::int64_t> dims = port.dims;
  const bool batch = port.has_rank && dims.size() > 1 && dims[0] < 0;
  if (batch) dims[0] = 1;
  const bool fixed = port.has_rank && std::ranges::none_of(dims, [](std::int64_t dim) { return dim < 0; });
  if (!type || type->bits < 8 || !fixed || (batch && whole)) return read_value(path, port);
  const auto count = element_count(dims);
  const auto each = count ? checked_mul(*count, static_cast<std::int64_t>(type->bits) / 8) : std::nullopt;
  const auto file = TRY(MappedFile::open(path));
  const auto size = static_cast<std::int64_t>(file->bytes().size());
  if (!each || *each == 0 || size == 0 || size % *each != 0) {
    return error_at(Code::invalid_argument, path,
                    fmt::format("{} bytes are not a multiple of one sample of {}", size, port.type),
                    each ? fmt::format("a sample takes {} bytes", *each) : std::string());
  }
  Array array;
  array.type = port.element_type;
  array.dims = dims;
  array.dims.insert(array.dims.begin(), size / *each);
  array.bytes = file->bytes().span();
  array.owner = file;
  array.file = file;
  return Value(std::move(array));
}

Result<const Port*> only(const std::vector<Port>& inputs) {
  const auto required = std::ranges::count_if(inputs, [](const Port& one) { return one.required; });
  if (inputs.size() == 1) return &inputs[0];
  if (required == 1) return &*std::ranges::find_if(inputs, [](const Port& one) { return one.required; });
  std::vector<std::string_view> names;
  for (const Port& one : inputs) names.push_back(one.name);
  return invalid_argument(
      "it does not say which input it is for",
      fmt::format("NAME=PATH, or an .npz with the names; inputs are {}", fmt::join(names, ", ")));
}

}  // namespace

Result<void> SampleFile::add(const Port& port, Value value) {
  if (value.tensor.type == "string") {
    texts_[port.name] = std::move(value);
    return {};
  }
  auto made = SampleArray::make(port, std::move(value.tensor), options_);
  if (!made.ok()) return std::move(made).error().within(fmt::format("input '{}'", shown(port.name)));
  if (made->count == 0) return invalid_argument("it has no samples");
  arrays_.push_back(std::move(made).value());
  return {};
}

// Arrays by the names of the inputs. A single array of another name is for an input that the caller chose.
Result<void> SampleFile::add_npz(const std::vector<Port>& inputs, bool chosen) {
  auto arrays = TRY(read_npz(path_));
  if (arrays.empty()) return invalid_argument("it has no arrays");
  std::map<std::string_view, const Port*> ports;
  for (const Port& one : inputs) ports.emplace(one.name, &one);
  for (auto& [name, array] : arrays) {
    const auto port = ports.find(name);
    if (port != ports.end()) {
      TRY(add(*port->second, Value(std::move(array))));
    } else if (arrays.size() == 1 && chosen) {
      TRY(add(inputs[0], Value(std::move(array))));
    } else {
      std::vector<std::string_view> names;
      for (const Port& one : inputs) names.push_back(one.name);
      std::string hint = did_you_mean(name, names);
      if (hint.empty()) hint = fmt::format("inputs are {}", fmt::join(names, ", "));
      if (arrays.size() == 1)
        hint +=
            fmt::format("; {}=PATH takes the array whatever its name", names.size() == 1 ? names[0] : "NAME");
      return error_at(Code::invalid_argument, {}, fmt::format("there is no input '{}'", shown(name)), hint);
    }
  }
  return {};
}

Result<SampleFile> SampleFile::open(const std::string& path, const std::vector<Port>& inputs, bool chosen,
                                    const SampleOptions& options) {
  auto opened = [&]() -> Result<SampleFile> {
    SampleFile file;
    file.path_ = path;
    file.options_ = options;
    const std::string ending = fs::path(path).extension().string();
    if (images::has_image_ending(path)) {
      file.image_ = *TRY(only(inputs));
    } else if (ending == ".npz") {
      TRY(file.add_npz(inputs, chosen));
    } else if (ending == ".bin" || ending == ".raw") {
      const Port& port = *TRY(only(inputs));
      TRY(file.add(port, TRY(read_raw(path, port, options.for_run))));
    } else if (ending == ".npy" || ending == ".pb") {
      const Port& port = *TRY(only(inputs));
      TRY(file.add(port, TRY(read_value(path, port))));
    } else {
      return invalid_argument("the file type is not supported for samples", known_kinds());
    }
    for (const SampleArray& one : file.arrays_) file.count_ = std::max(file.count_, one.count);
    for (const SampleArray& one : file.arrays_) {
      if (one.count != file.count_ && one.count != 1) {
        return invalid_argument(fmt::format("input '{}' has {} samples and another {}", shown(one.port.name),
                                            one.count, file.count_));
      }
    }
    return file;
  }();
  if (opened.ok() || opened.error().text().find(path) != std::string::npos) return opened;
  return Error(opened.error()).within(path);
}

Result<Sample> SampleFile::at(std::int64_t index) const {
  Sample sample = texts_;
  if (image_) {
    auto pixels = read_image(path_, *image_, options_);
    if (!pixels.ok() && pixels.error().text().find(path_) == std::string::npos)
      return std::move(pixels).error().within(path_);
    sample[image_->name] = TRY(std::move(pixels));
  }
  for (const SampleArray& one : arrays_) {
    sample[one.port.name] = TRY(one.at(one.count == 1 ? 0 : index));
  }
  return sample;
}

std::string SampleFile::name(std::int64_t index) const {
  return count_ == 1 ? path_ : fmt::format("{}[{}]", path_, index);
}

bool SampleFile::has_pixels() const {
  return image_ ||
         std::ranges::any_of(arrays_, [](const SampleArray& one) { return one.pixels.has_value(); });
}

Result<FoundFiles> sample_files(const std::string& path) {
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (!fs::exists(status)) return error_at(Code::not_found, {}, fmt::format("there is no '{}'", shown(path)));
  FoundFiles found;
  if (!fs::is_directory(status)) {
    found.files.push_back(path);
    return found;
  }
  std::vector<std::string> folders{path};
  while (!folders.empty()) {
    const std::string folder = std::move(folders.back());
    folders.pop_back();
    for (const std::string& name : TRY(names_in(folder))) {
      std::string one = folder.ends_with('/') ? folder + name : folder + '/' + name;
      struct stat there {};
      if (::stat(one.c_str(), &there) != 0 || !S_ISDIR(there.st_mode)) {
        (is_sample(name) ? found.files : found.skipped).push_back(std::move(one));
      } else if (!name.starts_with(".") && ::lstat(one.c_str(), &there) == 0 &&
                 S_ISDIR(there.st_mode)) {  // links may form cycles
        folders.push_back(std::move(one));
      }
    }
  }
  if (found.files.empty()) {
    return invalid_argument(fmt::format("the folder '{}' {}", shown(path),
                                        found.skipped.empty() ? "is empty" : "has no file with samples"),
                            known_kinds());
  }
  std::ranges::sort(found.files);
  std::ranges::sort(found.skipped);
  return found;
}

}  // namespace anybit
