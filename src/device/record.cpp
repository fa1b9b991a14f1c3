#include "device/record.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/atomic_file.hpp"
#include "base/hash.hpp"
#include "base/mapped_file.hpp"
#include "base/try.hpp"
#include "calibrate/json.hpp"

namespace anybit {
namespace {

constexpr std::string_view kFormat = "anybit compiled 1";
constexpr JsonTree::Limits kLimits{.bytes = 1 << 20, .values = 100, .depth = 1};

// Visits every string of a record, with its key in the file.
template <class Record, class See>
void each_text(Record& record, See see) {
  see("version", record.version);
  see("model", record.model);
  see("recipe", record.recipe);
  see("kernels", record.kernels);
  see("quantized", record.quantized);
  see("quantized_hash", record.quantized_hash);
  see("generator", record.generator);
  see("generator_hash", record.generator_hash);
  see("shapes", record.shapes);
  see("generated", record.generated);
  see("generated_hash", record.generated_hash);
}

}  // namespace

Result<void> save_record(const DeviceRecord& record, const std::string& path) {
  std::string text = fmt::format("{{\n \"format\": {}", json_text(kFormat));
  each_text(record, [&](const char* name, const std::string& value) {
    text += fmt::format(",\n \"{}\": {}", name, json_text(value));
  });
  text += fmt::format(",\n \"preference\": {}\n}}\n", record.preference);
  AtomicFile file = TRY(AtomicFile::create(path));
  TRY(file.write(text));
  return file.commit();
}

std::optional<DeviceRecord> load_record(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (!file.ok()) return std::nullopt;
  const auto json = JsonTree::parse((*file)->bytes().text(), kLimits);
  if (!(*file)->intact().ok() || !json.ok()) return std::nullopt;
  const JsonTree* format = json->find("format");
  if (!format || !format->text() || *format->text() != kFormat) return std::nullopt;
  DeviceRecord record;
  bool whole = true;
  each_text(record, [&](const char* name, std::string& to) {
    const JsonTree* found = json->find(name);
    whole = whole && found && found->text();
    if (whole) to = *found->text();
  });
  const JsonTree* preference = json->find("preference");
  if (!whole || !preference || !preference->natural()) return std::nullopt;
  record.preference = static_cast<std::int32_t>(std::min<std::uint64_t>(*preference->natural(), 1 << 20));
  return record;
}

Result<std::string> file_hash(const std::string& path) {
  const auto file = TRY(MappedFile::open(path));
  Sha256 hash;
  hash.update(file->bytes().span());
  TRY(file->intact());
  return hash.hex();
}

}  // namespace anybit
