// .npy and .npz files on disk.
#include <array>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/guard.hpp"
#include "base/mapped_file.hpp"
#include "base/npy.hpp"
#include "base/try.hpp"
#include "base/zip.hpp"

namespace anybit {
namespace {

constexpr std::string_view kSuffix = ".npy";

template <class T>
Result<T> at(const std::string& path, Result<T> result) {
  if (result.ok()) return result;
  return std::move(result).error().within(shown(path));
}

Result<std::map<std::string, Array>> parse_npz(const std::shared_ptr<const MappedFile>& file) {
  std::map<std::string, Array> arrays;
  for (const ZipEntry& entry : TRY(read_zip(file->bytes()))) {
    std::string name = entry.name;
    if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
    auto array = parse_npy(entry.data, file);
    if (!array.ok()) return std::move(array).error().within(fmt::format("entry '{}'", shown(name)));
    if (!arrays.emplace(name, *std::move(array)).second) {
      return error_at(Code::malformed, {}, fmt::format("two entries are named '{}'", shown(name)));
    }
  }
  TRY(file->intact());
  return arrays;
}

// Header and data of an array, as stored in a file.
Result<std::array<Bytes, 2>> parts_of(const Array& array) {
  std::string header = TRY(npy_header(array));
  Bytes data = TRY(npy_data(array));
  return std::array{Bytes::own(std::move(header)), std::move(data)};
}

}  // namespace

Result<Array> read_npy(const std::string& path) noexcept {
  return guarded([&]() -> Result<Array> {
    const auto file = TRY(MappedFile::open(path));
    return at(path, parse_npy(file->bytes(), file));
  });
}

Result<std::map<std::string, Array>> read_npz(const std::string& path) noexcept {
  return guarded([&]() -> Result<std::map<std::string, Array>> {
    return at(path, parse_npz(TRY(MappedFile::open(path))));
  });
}

Result<void> write_npy(const std::string& path, const Array& array) noexcept {
  return guarded([&]() -> Result<void> {
    const auto parts = TRY(parts_of(array));
    AtomicFile file = TRY(AtomicFile::create(path));
    for (const Bytes& part : parts) TRY(file.write(part.span()));
    TRY(array.intact());
    return file.commit();
  });
}

Result<void> write_npz(const std::string& path, const std::map<std::string, Array>& arrays) noexcept {
  return guarded([&]() -> Result<void> {
    AtomicFile file = TRY(AtomicFile::create(path));
    ZipWriter zip(file);
    for (const auto& [name, array] : arrays) {
      auto parts = parts_of(array);
      if (!parts.ok()) return std::move(parts).error().within(fmt::format("array '{}'", shown(name)));
      TRY(zip.add(name + std::string(kSuffix), *parts));
    }
    TRY(zip.finish());
    for (const auto& one : arrays) TRY(one.second.intact());
    return file.commit();
  });
}

}  // namespace anybit
