#include "calibrate/ranges_file.hpp"

#include <bit>
#include <charconv>
#include <cmath>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/mapped_file.hpp"
#include "base/try.hpp"
#include "base/utf.hpp"
#include "calibrate/json.hpp"

namespace anybit::calibrate {
namespace {

constexpr std::string_view kFormat = "anybit ranges";
constexpr std::int64_t kVersion = 1;
// Counts that a double holds exactly; merging thousands of them does not overflow.
constexpr std::int64_t kMost = std::int64_t{1} << 53;
constexpr JsonTree::Limits kLimits{.bytes = std::size_t{1} << 30, .values = 20'000'000, .depth = 8};

Error damaged(std::string message) {
  return error_at(Code::malformed, {}, std::move(message), "calibrate again");
}

// A name and a value of an object; the first one of an object has no comma before it.
void put(std::string& text, std::string_view name, std::string_view value) {
  if (text.back() != '{') text += ',';
  text += fmt::format("\n   \"{}\": {}", name, value);
}

// One string of counts for each page that has any, under the key of the first that is not zero.
std::string bins_text(const Bins& bins) {
  std::string text = "{";
  for (std::size_t i = 0; i < Bins::kPages; ++i) {
    const Bins::Page* page = bins.page(i);
    std::string counts;
    std::size_t first = 0, zeros = 0;
    for (std::size_t k = 0; page && k < Bins::kPerPage; ++k) {
      const std::uint64_t count = (*page)[k];
      if (count == 0) {
        ++zeros;
        continue;
      }
      if (counts.empty()) first = k;
      for (; !counts.empty() && zeros > 0; --zeros) counts += " 0";
      zeros = 0;
      counts += fmt::format("{}{}", counts.empty() ? "" : " ", count);
    }
    if (counts.empty()) continue;
    text +=
        fmt::format("{}\n    \"{:04x}\": \"{}\"", text == "{" ? "" : ",", i * Bins::kPerPage + first, counts);
  }
  return text + "}";
}

std::string average_text(const MovingAverage& average) {
  return fmt::format("{{\"value\": {}, \"first\": {}}}", json_number(average.value),
                     json_number(average.first));
}

std::string tensor_text(const Statistics& one) {
  std::string text = "{";
  put(text, "samples", std::to_string(one.samples));
  put(text, "count", std::to_string(one.count));
  put(text, "zeros", std::to_string(one.zeros));
  if (one.finite() > 0) {
    put(text, "min", json_number(static_cast<double>(one.min)));
    put(text, "max", json_number(static_cast<double>(one.max)));
    put(text, "moving_average",
        fmt::format("{{\"momentum\": {}, \"samples\": {}, \"min\": {}, \"max\": {}}}",
                    json_number(one.momentum), one.average_min.count, average_text(one.average_min),
                    average_text(one.average_max)));
  }
  if (one.bad_sample >= 0) {
    put(text, "nans", std::to_string(one.nans));
    put(text, "infinities", std::to_string(one.infinities));
    put(text, "bad_sample",
        fmt::format("{{\"number\": {}, \"text\": {}}}", one.bad_sample, json_text(one.first_bad)));
  }
  if (one.has_bins) put(text, "bins", bins_text(one.bins));
  return text + "}";
}

Result<std::int64_t> whole(const JsonTree& object, const char* name, std::int64_t otherwise = -1) {
  const JsonTree* found = object.find(name);
  if (!found && otherwise >= 0) return otherwise;
  if (!found || !found->whole() || *found->whole() > kMost)
    return damaged(fmt::format("'{}' is not a whole number", name));
  return static_cast<std::int64_t>(*found->whole());
}

Result<double> real(const JsonTree& object, const char* name) {
  const JsonTree* found = object.find(name);
  if (!found || !found->is_number() || !std::isfinite(found->number()))
    return damaged(fmt::format("'{}' is not a number", name));
  return found->number();
}

Result<float> bound(const JsonTree& object, const char* name) {
  const double value = TRY(real(object, name));
  if (static_cast<double>(static_cast<float>(value)) != value)
    return damaged(fmt::format("'{}' is not a float32 number", name));
  return static_cast<float>(value);
}

Result<MovingAverage> average(const JsonTree& object, const char* name, std::int64_t count) {
  const JsonTree* found = object.find(name);
  if (!found) return damaged(fmt::format("'moving_average' has no '{}'", name));
  MovingAverage result;
  result.value = TRY(real(*found, "value"));
  result.first = TRY(real(*found, "first"));
  result.count = count;
  return result;
}

// Counts of one page, from `key` on. `left`: how many values there can be.
Result<void> read_page(std::string_view text, std::uint32_t key, std::uint64_t& left, Bins& bins) {
  const std::uint32_t page = static_cast<std::uint32_t>(key / Bins::kPerPage);
  for (const char* at = text.data(); at != text.data() + text.size();) {
    std::uint64_t count = 0;
    const auto [end, problem] = std::from_chars(at, text.data() + text.size(), count);
    if (problem != std::errc() || count > left || key / Bins::kPerPage != page)
      return damaged(fmt::format("bins: cannot read the counts from {:04x} on", page * Bins::kPerPage));
    left -= count;
    bins.add(static_cast<std::uint16_t>(key++), count);
    const bool more = end != text.data() + text.size();
    if (more && *end != ' ') return damaged("bins: counts are not separated by blanks");
    at = more ? end + 1 : end;
  }
  return {};
}

Result<void> read_bins(const JsonTree& json, Statistics& one) {
  const JsonTree::Members* pages = json.members();
  if (!pages) return damaged("'bins' is not an object");
  auto left = static_cast<std::uint64_t>(one.finite() - one.zeros);
  for (const auto& [name, counts] : *pages) {
    std::uint32_t key = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), key, 16);
    const bool fits = name.size() == 4 && end == name.data() + 4 && problem == std::errc() &&
                      (key & 0x7FFF) != 0 && (key & 0x7FFF) < 0x7F80;
    if (!fits || !counts.text()) return damaged(fmt::format("bins: '{}' is not a key", shown(name)));
    TRY(read_page(*counts.text(), key, left, one.bins));
  }
  if (left != 0) return damaged("the bins hold fewer values than there were");
  for (const float end : {one.min, one.max}) {
    const auto key = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(end) >> 16);
    if ((key & 0x7FFF) != 0 && one.bins.count(key) == 0) return damaged("the bins do not reach the bounds");
  }
  return {};
}

Result<Statistics> read_tensor(const JsonTree& json) {
  Statistics one;
  one.samples = TRY(whole(json, "samples"));
  one.count = TRY(whole(json, "count"));
  one.zeros = TRY(whole(json, "zeros"));
  one.nans = TRY(whole(json, "nans", 0));
  one.infinities = TRY(whole(json, "infinities", 0));
  if (one.finite() < one.zeros || (one.samples == 0 && one.count > 0))
    return damaged("the counts do not add up");
  if (one.finite() > 0) {
    one.min = TRY(bound(json, "min"));
    one.max = TRY(bound(json, "max"));
    if (one.min > one.max) return damaged("'min' is larger than 'max'");
    const JsonTree* moving = json.find("moving_average");
    if (!moving) return damaged("'moving_average' is missing");
    one.momentum = TRY(real(*moving, "momentum"));
    const std::int64_t count = TRY(whole(*moving, "samples"));
    if (!(one.momentum >= 0 && one.momentum <= 1) || count < 1 || count > one.samples)
      return damaged("'moving_average' cannot be");
    one.average_min = TRY(average(*moving, "min", count));
    one.average_max = TRY(average(*moving, "max", count));
    // Averages lie between what they are averages of, but for the rounding of float64.
    const double low = static_cast<double>(one.min), high = static_cast<double>(one.max);
    const double slack = 1e-9 * (std::abs(low) + std::abs(high));
    for (const double value :
         {one.average_min.value, one.average_min.first, one.average_max.value, one.average_max.first}) {
      if (value < low - slack || value > high + slack)
        return damaged("'moving_average' is outside of the bounds");
    }
    if (one.average_min.value > one.average_max.value) return damaged("'moving_average' cannot be");
  }
  if (const JsonTree* bad = json.find("bad_sample")) {
    one.bad_sample = TRY(whole(*bad, "number"));
    const JsonTree* text = bad->find("text");
    if (!text || !text->text()) return damaged("'bad_sample' has no text");
    one.first_bad = *text->text();
  }
  if ((one.bad_sample >= 0) != (one.nans + one.infinities > 0))
    return damaged("NaN and infinity are not accounted for");
  const JsonTree* bins = json.find("bins");
  one.has_bins = bins != nullptr;
  if (bins) TRY(read_bins(*bins, one));
  return one;
}

bool is_hash(const JsonTree* json) {
  return json && json->text() && json->text()->size() == 64 &&
         json->text()->find_first_not_of("0123456789abcdef") == std::string::npos;
}

Result<JsonTree> tree_of(std::string_view text) {
  auto tree = JsonTree::parse(text, kLimits);
  if (!tree.ok() && tree.error().code == Code::malformed)
    return damaged("not a file of ranges: it is no JSON");
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
  if (!format || !format->text() || *format->text() != kFormat) return damaged("not a file of ranges");
  const std::int64_t version = TRY(whole(json, "version"));
  if (version != kVersion) {
    return error_at(Code::unsupported, {},
                    fmt::format("version {} of the format of ranges is not known", version),
                    fmt::format("this is version {}", kVersion));
  }
  if (!is_hash(json.find("model"))) return damaged("'model' is not a hash");
  const JsonTree* tensors = json.find("tensors");
  if (!tensors || !tensors->members()) return damaged("'tensors' is missing");
  Ranges ranges;
  ranges.model = *json.find("model")->text();
  ranges.samples = TRY(whole(json, "samples"));
  for (const auto& [name, one] : *tensors->members()) {
    auto read = read_tensor(one);
    if (!read.ok()) return std::move(read).error().within(fmt::format("tensor '{}'", shown(name)));
    if (read->samples > ranges.samples)
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
                            "only ranges of the very same model can be merged");
  }
  Ranges merged = ranges;
  for (const auto& [name, one] : other.tensors) {
    const auto [place, fresh] = merged.tensors.try_emplace(name, one);
    if (fresh) continue;
    if (place->second.count == 0) place->second.momentum = one.momentum;
    if (one.count == 0) {
      place->second.samples += one.samples;
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
