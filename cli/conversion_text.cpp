#include "conversion_text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "anybit/report.hpp"
#include "table.hpp"

namespace anybit::cli {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::int64_t> index_of(std::int64_t at, const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> index(dims.size());
  for (std::size_t d = dims.size(); d-- > 0; at /= dims[d]) index[d] = at % dims[d];
  return index;
}

std::int64_t float_bytes(const TensorFormat& format) { return 4 * format.count(); }

std::string part_of(std::int64_t count, std::int64_t all) {
  return count == 0 ? "none" : fmt::format("{} ({})", long_count(count), share(count, all));
}

std::string narrowing_text(const Narrowing& n, std::int64_t all) {
  std::string text =
      fmt::format("{} of {}, by {:.6g} at most", part_of(n.changed, all), n.from, n.largest_change);
  if (n.flushed > 0) text += fmt::format("; {} became zero", long_count(n.flushed));
  return text;
}

bool all_finite_exact(const Losses& l) { return std::isinf(l.sqnr) && l.sqnr > 0; }

// Inf always counts as saturated.
bool all_exact(const Conversion& c) {
  const Losses& l = *c.losses;
  return all_finite_exact(l) && l.lost == 0 && l.saturated == 0 && l.not_a_number == 0 &&
         c.narrowing.changed == 0;
}

std::string fidelity_text(const Conversion& c) {
  const Losses& l = *c.losses;
  if (all_exact(c)) return "exact";
  if (!all_finite_exact(l)) return fmt::format("{:.2f} dB", l.sqnr);
  if (l.lost > 0) return "exact, except for lost values";
  return l.saturated > 0 || l.not_a_number > 0 ? "exact for finite values"
                                               : "exact after rounding to float32";
}

}  // namespace

std::string index_text(std::int64_t at, const std::vector<std::int64_t>& dims) {
  return fmt::format("[{}]", fmt::join(index_of(at, dims), ", "));
}

std::string to_text(const Conversion& c) {
  Table table({{""}, {""}});
  const TensorFormat& f = c.format;
  table.add({"Tensor", fmt::format("[{}], {} {}", fmt::join(f.dims(), ", "), long_count(f.count()),
                                   f.count() == 1 ? "value" : "values")});
  if (c.narrowing.changed > 0) table.add({"Rounded to float32", narrowing_text(c.narrowing, f.count())});
  std::string groups;
  if (f.granularity() != Granularity::element) {
    groups = fmt::format(", {} of [{}]", f.groups() == 1 ? "one group" : long_count(f.groups()) + " groups",
                         fmt::join(f.group_shape(), ", "));
  }
  table.add({"Format", fmt::format("{}{}, {}", f.name(), groups, name_of(f.rounding()))});
  if (c.bytes) {
    std::string size =
        fmt::format("{} as float32, {} packed", short_bytes(float_bytes(f)), short_bytes(*c.bytes));
    if (f.count() > 0) {
      const double before = static_cast<double>(float_bytes(f)), after = static_cast<double>(*c.bytes);
      size += before >= after ? fmt::format(" ({:.2f} × smaller)", before / after)
                              : fmt::format(" ({:.2f} × larger)", after / before);
    }
    table.add({"Size", size});
  }
  table.add({"Bits per value", fmt::format("{:.4g}", f.bits_per_value())});
  if (c.losses) {
    const Losses& l = *c.losses;
    table.add({"SQNR", fidelity_text(c)});
    table.add({"Largest error",
               l.largest_error_at < 0
                   ? "none"
                   : fmt::format("{:.6g} at {}", l.largest_error, index_text(l.largest_error_at, f.dims()))});
    table.add({"Saturated", part_of(l.saturated, f.count())});
    table.add({"Flushed to zero", part_of(l.flushed, f.count())});
    if (l.lost > 0) table.add({"Lost: became NaN or Inf", part_of(l.lost, f.count())});
    if (l.not_a_number > 0) table.add({"NaN", part_of(l.not_a_number, f.count())});
  }
  table.add({"Written", c.output});
  return table.text(0);
}

std::string to_json(const Conversion& c) {
  const TensorFormat& f = c.format;
  Json parameters = Json::object();
  for (const auto& [name, value] : f.parameters()) {
    parameters[name] = std::visit([](const auto& v) { return Json(v); }, value);
  }
  Json json{{"input", c.input},
            {"output", c.output},
            {"format", f.name()},
            {"parameters", parameters},
            {"dims", f.dims()},
            {"granularity", name_of(f.granularity())},
            {"group_shape", f.group_shape()},
            {"groups", f.groups()},
            {"rounding", name_of(f.rounding())},
            {"bits", f.bits()},
            {"bits_per_value", f.bits_per_value()},
            {"float32_bytes", float_bytes(f)},
            {"packed_bytes", c.bytes ? Json(*c.bytes) : Json()}};
  if (c.losses) {
    const Losses& l = *c.losses;
    const Narrowing& n = c.narrowing;
    json["narrowing"] = {{"from", n.from},
                         {"changed", n.changed},
                         {"flushed", n.flushed},
                         {"largest_change", n.largest_change}};
    json["losses"] = {
        {"exact", all_exact(c)},
        {"sqnr_db", std::isfinite(l.sqnr) ? Json(l.sqnr) : Json()},
        {"mean_squared_error", l.mean_squared_error},
        {"largest_error", l.largest_error},
        {"largest_error_at", l.largest_error_at < 0 ? Json() : Json(index_of(l.largest_error_at, f.dims()))},
        {"saturated", l.saturated},
        {"flushed", l.flushed},
        {"not_a_number", l.not_a_number},
        {"lost", l.lost}};
    add_json_aliases(json["losses"]);
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace anybit::cli
