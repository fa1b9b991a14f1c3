#include "calibrate/ranges_file.hpp"

#include <algorithm>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/mapped_file.hpp"
#include "base/try.hpp"
#include "base/utf.hpp"
#include "calibrate/fields.hpp"

namespace anybit::calibrate {
namespace {

constexpr std::string_view kFormat = "anybit ranges";
constexpr std::int64_t kVersion = 1;
constexpr JsonTree::Limits kLimits{.bytes = std::size_t{1} << 30, .values = 20'000'000, .depth = 8};

// Appends a member to an object, with a comma unless it is the first.
void put(std::string& text, std::string_view name, std::string_view value, int indent) {
  if (text.back() != '{') text += ',';
  text += fmt::format("\n{:{}}\"{}\": {}", "", indent, name, value);
}

// Members of version 1 have a fixed order; later ones follow them.
constexpr std::string_view kOrder[] = {"samples",        "count", "zeros",      "min",        "max",
                                       "moving_average", "nans",  "infinities", "bad_sample", "bins"};

// One object per collector with views, with one member per view.
void put_further(const Statistics& one, JsonMembers& members) {
  std::map<std::string, std::string> kinds;
  for (const auto& [key, collector] : one.further) {
    JsonMembers own;
    collector->write(own);
    std::string text = "{";
    for (const auto& [name, value] : own) put(text, name, value, 5);
    std::string& views = kinds[key.first];
    views += fmt::format("{}\n    {}: {}}}", views.empty() ? "{" : ",", json_text(key.second), text);
  }
  for (const auto& [name, views] : kinds) members.emplace_back(name, views + "}");
}

std::string tensor_text(const Statistics& one) {
  JsonMembers members;
  one.extent.write(members);
  if (one.has_averages) one.averages.write(members);
  if (one.has_bins) one.bins.write(members);
  std::ranges::stable_sort(members, {}, [](const auto& member) {
    return std::ranges::find(kOrder, member.first) - std::begin(kOrder);
  });
  put_further(one, members);
  std::string text = "{";
  for (const auto& [name, value] : members) put(text, name, value, 3);
  return text + "}";
}

Result<void> read_further(const JsonTree& json, Statistics& one) {
  for (const CollectorDescriptor* row : collector_table()) {
    const JsonTree* found = row->make ? json.find(row->name) : nullptr;
    if (!found) continue;
    if (!found->members()) return damaged(fmt::format("'{}' is not an object", row->name));
    for (const auto& [view, numbers] : *found->members()) {
      HeldCollector held(row->make({}));
      auto done = held->read(numbers, one.extent);
      if (!done.ok()) return std::move(done).error().within(std::string(row->name));
      one.further.insert_or_assign({std::string(row->name), view}, std::move(held));
    }
  }
  return {};
}

Result<Statistics> read_tensor(const JsonTree& json) {
  Statistics one;
  TRY(one.extent.read(json, one.extent));
  TRY(one.averages.read(json, one.extent));
  one.has_averages = json.find("moving_average") != nullptr;
  one.has_bins = json.find("bins") != nullptr;
  if (one.has_bins) TRY(one.bins.read(json, one.extent));
  TRY(read_further(json, one));
  return one;
}

bool is_hash(const JsonTree* json) {
  return json && json->text() && json->text()->size() == 64 &&
         json->text()->find_first_not_of("0123456789abcdef") == std::string::npos;
}

Result<JsonTree> tree_of(std::string_view text) {
  auto tree = JsonTree::parse(text, kLimits);
  if (!tree.ok() && tree.error().code == Code::malformed) return damaged("not a ranges file: invalid JSON");
  return tree;
}

}  // namespace

Result<std::string> to_text(const Ranges& ranges) {
  std::string text = fmt::format(
      "{{\n \"format\": {},\n \"version\": {},\n \"model\": {},\n \"samples\": {},\n \"tensors\": {{",
      json_text(kFormat), kVersion, json_text(ranges.model), ranges.samples);
  bool first = true;
  for (const auto& [name, one] : ranges.tensors) {
    if (!from_utf8(name))
      return invalid_model(fmt::format("value '{}'", shown(name)), "its name is not UTF-8");
    text += fmt::format("{}\n  {}: {}", std::exchange(first, false) ? "" : ",", json_text(name),
                        tensor_text(one));
  }
  return text + "}\n}\n";
}

Result<Ranges> parse_ranges(std::string_view text) {
  const JsonTree json = TRY(tree_of(text));
  const JsonTree* format = json.find("format");
  if (!format || !format->text() || *format->text() != kFormat) return damaged("not a ranges file");
  const std::int64_t version = TRY(integer(json, "version"));
  if (version != kVersion) {
    return error_at(Code::unsupported, {},
                    fmt::format("version {} of the ranges format is not known", version),
                    fmt::format("this is version {}", kVersion));
  }
  if (!is_hash(json.find("model"))) return damaged("'model' is not a hash");
  const JsonTree* tensors = json.find("tensors");
  if (!tensors || !tensors->members()) return damaged("'tensors' is missing");
  Ranges ranges;
  ranges.model = *json.find("model")->text();
  ranges.samples = TRY(integer(json, "samples"));
  for (const auto& [name, one] : *tensors->members()) {
    auto read = read_tensor(one);
    if (!read.ok()) return std::move(read).error().within(fmt::format("tensor '{}'", shown(name)));
    if (read->extent.samples > ranges.samples)
      return damaged("it has more samples than there were").within(fmt::format("tensor '{}'", shown(name)));
    ranges.tensors[name] = std::move(read).value();
  }
  return ranges;
}

Result<void> save_ranges(const Ranges& ranges, const std::string& path) {
  const std::string text = TRY(to_text(ranges));
  AtomicFile file = TRY(AtomicFile::create(path));
  TRY(file.write(text));
  return file.commit();
}

Result<Ranges> load_ranges(const std::string& path) {
  const auto file = TRY(MappedFile::open(path));
  auto ranges = parse_ranges(file->bytes().text());
  TRY(file->intact());
  if (!ranges.ok()) return std::move(ranges).error().within(path);
  return ranges;
}

Result<void> merge(Ranges& ranges, const Ranges& other) {
  if (ranges.model != other.model) {
    return invalid_argument("the ranges belong to different models",
                            "only ranges of the same model can be merged");
  }
  Ranges merged = ranges;
  for (const auto& [name, one] : other.tensors) {
    const auto [place, fresh] = merged.tensors.try_emplace(name, one);
    if (fresh) continue;
    if (place->second.extent.count == 0) place->second.averages.momentum = one.averages.momentum;
    if (one.extent.count == 0) {
      place->second.extent.samples += one.extent.samples;
      continue;
    }
    auto done = place->second.merge(one);
    if (!done.ok()) return std::move(done).error().within(fmt::format("tensor '{}'", shown(name)));
  }
  merged.samples += other.samples;
  ranges = std::move(merged);
  return {};
}

Result<void> check_belongs(const Ranges& ranges, const std::string& model_hash) {
  if (ranges.model == model_hash) return {};
  return error_at(
      Code::invalid_argument, {},
      fmt::format("the ranges belong to another model, or to this one before it changed (its hash is "
                  "{}…, theirs {}…)",
                  model_hash.substr(0, 12), ranges.model.substr(0, 12)),
      "calibrate again");
}

}  // namespace anybit::calibrate
