#include "session/device_record.hpp"

#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "base/hash.hpp"
#include "base/mapped_file.hpp"
#include "base/try.hpp"

namespace anybit {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "anybit compiled 1";
constexpr std::size_t kLargestFile = 1 << 20;

// Every text of a record, under its name in the file.
template <class Record, class See>
void each_text(Record& record, See see) {
  see("version", record.version);
  see("model", record.model);
  see("recipe", record.recipe);
  see("quantized", record.quantized);
  see("quantized_hash", record.quantized_hash);
  see("generator", record.generator);
  see("generated", record.generated);
  see("generated_hash", record.generated_hash);
}

}  // namespace

Result<void> save_record(const DeviceRecord& record, const std::string& path) {
  Json json = {{"format", kFormat}};
  each_text(record, [&](const char* name, const std::string& text) { json[name] = text; });
  json["preference"] = record.preference;
  AtomicFile file = TRY(AtomicFile::create(path));
  TRY(file.write(json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"));
  return file.commit();
}

std::optional<DeviceRecord> load_record(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (!file.ok() || (*file)->bytes().size() > kLargestFile) return std::nullopt;
  const std::string text((*file)->bytes().text());
  if (!(*file)->intact().ok()) return std::nullopt;
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("format", Json()) != kFormat) return std::nullopt;
  DeviceRecord record;
  bool whole = true;
  each_text(record, [&](const char* name, std::string& to) {
    const auto found = json.find(name);
    whole = whole && found != json.end() && found->is_string();
    if (whole) to = found->get<std::string>();
  });
  const auto preference = json.find("preference");
  if (!whole || preference == json.end() || !preference->is_number_integer()) return std::nullopt;
  record.preference = preference->get<std::int32_t>();
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
