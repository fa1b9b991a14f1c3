#include "calibrate/ranges_file.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/mapped_file.hpp"
#include "base/try.hpp"
#include "base/utf.hpp"

namespace anybit::calibrate {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "anybit ranges";
constexpr std::int64_t kVersion = 1;
// Counts that a double holds exactly; merging thousands of them does not overflow.
constexpr std::int64_t kMost = std::int64_t{1} << 53;
constexpr std::size_t kLargestFile = std::size_t{1} << 30, kValues = 20'000'000;
constexpr int kDepth = 8;

Error damaged(std::string message) {
  return error_at(Code::malformed, {}, std::move(message), "calibrate again");
}

// One string of counts for each page that has any, under the key of the first that is not zero.
Json bins_json(const Bins& bins) {
  Json json = Json::object();
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
    if (!counts.empty()) json[fmt::format("{:04x}", i * Bins::kPerPage + first)] = std::move(counts);
  }
  return json;
}

Json average_json(const MovingAverage& average) {
  return {{"value", average.value}, {"first", average.first}};
}

Json tensor_json(const Statistics& one) {
  Json json = {{"samples", one.samples}, {"count", one.count}, {"zeros", one.zeros}};
  if (one.finite() > 0) {
    json["min"] = one.min;
    json["max"] = one.max;
    json["moving_average"] = {{"momentum", one.momentum},
                              {"samples", one.average_min.count},
                              {"min", average_json(one.average_min)},
                              {"max", average_json(one.average_max)}};
  }
  if (one.bad_sample >= 0) {
    json["nans"] = one.nans;
    json["infinities"] = one.infinities;
    json["bad_sample"] = {{"number", one.bad_sample}, {"text", one.first_bad}};
  }
  if (one.has_bins) json["bins"] = bins_json(one.bins);
  return json;
}

const Json* member(const Json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found == object.end() ? nullptr : &*found;
}

Result<std::int64_t> whole(const Json& object, const char* name, std::int64_t otherwise = -1) {
  const Json* found = member(object, name);
  if (!found && otherwise >= 0) return otherwise;
  if (!found || !found->is_number_unsigned() || found->get<std::uint64_t>() > kMost)
    return damaged(fmt::format("'{}' is not a whole number", name));
  return found->get<std::int64_t>();
}

Result<double> real(const Json& object, const char* name) {
  const Json* found = member(object, name);
  if (!found || !found->is_number() || !std::isfinite(found->get<double>()))
    return damaged(fmt::format("'{}' is not a number", name));
  return found->get<double>();
}

Result<float> bound(const Json& object, const char* name) {
  const double value = TRY(real(object, name));
  if (static_cast<double>(static_cast<float>(value)) != value)
    return damaged(fmt::format("'{}' is not a float32 number", name));
  return static_cast<float>(value);
}

Result<MovingAverage> average(const Json& object, const char* name, std::int64_t count) {
  const Json* found = member(object, name);
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

Result<void> read_bins(const Json& json, Statistics& one) {
  if (!json.is_object()) return damaged("'bins' is not an object");
  auto left = static_cast<std::uint64_t>(one.finite() - one.zeros);
  for (const auto& [name, counts] : json.items()) {
    std::uint32_t key = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), key, 16);
    const bool fits = name.size() == 4 && end == name.data() + 4 && problem == std::errc() &&
                      (key & 0x7FFF) != 0 && (key & 0x7FFF) < 0x7F80;
    if (!fits || !counts.is_string()) return damaged(fmt::format("bins: '{}' is not a key", shown(name)));
    TRY(read_page(counts.get_ref<const std::string&>(), key, left, one.bins));
  }
  if (left != 0) return damaged("the bins hold fewer values than there were");
  for (const float end : {one.min, one.max}) {
    const auto key = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(end) >> 16);
    if ((key & 0x7FFF) != 0 && one.bins.count(key) == 0) return damaged("the bins do not reach the bounds");
  }
  return {};
}

Result<Statistics> read_tensor(const Json& json) {
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
    const Json* moving = member(json, "moving_average");
    if (!moving) return damaged("'moving_average' is missing");
    one.momentum = TRY(real(*moving, "momentum"));
    const std::int64_t count = TRY(whole(*moving, "samples"));
    if (!(one.momentum >= 0 && one.momentum <= 1) || count < 1 || count > one.samples)
      return damaged("'moving_average' cannot be");
    one.average_min = TRY(average(*moving, "min", count));
    one.average_max = TRY(average(*moving, "max", count));
  }
  if (const Json* bad = member(json, "bad_sample")) {
    one.bad_sample = TRY(whole(*bad, "number"));
    const Json* text = member(*bad, "text");
    if (!text || !text->is_string()) return damaged("'bad_sample' has no text");
    one.first_bad = text->get<std::string>();
  }
  if ((one.bad_sample >= 0) != (one.nans + one.infinities > 0))
    return damaged("NaN and infinity are not accounted for");
  const Json* bins = member(json, "bins");
  one.has_bins = bins != nullptr;
  if (bins) TRY(read_bins(*bins, one));
  return one;
}

// The parser's tree, as long as it stays within bounds.
Result<Json> tree_of(std::string_view text) {
  if (text.size() > kLargestFile)
    return error_at(Code::limit_exceeded, {}, fmt::format("{} bytes are too many for ranges", text.size()));
  struct TooMuch {};
  std::size_t values = 0;
  const auto count = [&](int depth, Json::parse_event_t, const Json&) {
    if (depth > kDepth || ++values > kValues) throw TooMuch();
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), count);
  } catch (const TooMuch&) {
    return error_at(Code::limit_exceeded, {}, "too many values, or too deeply nested, for ranges");
  } catch (const Json::exception&) {
    return damaged("not a file of ranges: it is no JSON");
  }
}

bool is_hash(const Json* json) {
  return json && json->is_string() && json->get_ref<const std::string&>().size() == 64 &&
         json->get_ref<const std::string&>().find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

Result<std::string> to_text(const Ranges& ranges) {
  Json json = {{"format", kFormat},
               {"version", kVersion},
               {"model", ranges.model},
               {"samples", ranges.samples},
               {"tensors", Json::object()}};
  for (const auto& [name, one] : ranges.tensors) {
    if (!from_utf8(name))
      return invalid_model(fmt::format("value '{}'", shown(name)), "its name is not UTF-8");
    json["tensors"][name] = tensor_json(one);
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Ranges> parse_ranges(std::string_view text) {
  const Json json = TRY(tree_of(text));
  const Json* format = member(json, "format");
  if (!format || *format != kFormat) return damaged("not a file of ranges");
  const std::int64_t version = TRY(whole(json, "version"));
  if (version != kVersion) {
    return error_at(Code::unsupported, {},
                    fmt::format("version {} of the format of ranges is not known", version),
                    fmt::format("this is version {}", kVersion));
  }
  if (!is_hash(member(json, "model"))) return damaged("'model' is not a hash");
  const Json* tensors = member(json, "tensors");
  if (!tensors || !tensors->is_object()) return damaged("'tensors' is missing");
  Ranges ranges;
  ranges.model = json["model"].get<std::string>();
  ranges.samples = TRY(whole(json, "samples"));
  for (const auto& [name, one] : tensors->items()) {
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
