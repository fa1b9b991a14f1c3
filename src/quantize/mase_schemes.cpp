#include "quantize/mase_schemes.hpp"

#include <algorithm>
#include <iterator>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"

namespace anybit::quantizing {
namespace {

struct Missing {
  std::string_view scheme, instead;
};
constexpr Missing kMissing[] = {
    {"lutnet", "binary_residual has the same binary levels, without tables"},
    {"logicnets", "fixed with few bits, for example width 2, has the same values, without tables"},
    {"flexround", "integer, and --refine for rounding that is learned"},
    {"mxint_hardware", "mxint, with blocks along a row"},
};

// Removes a key; `otherwise` if it is not given.
std::string take(MaseKeys& keys, std::string_view name, std::string otherwise) {
  const auto found = keys.find(name);
  if (found == keys.end()) return otherwise;
  std::string text = std::move(found->second);
  keys.erase(found);
  return text;
}

Result<std::string> mxint(std::string_view, MaseKeys& keys) {
  const std::string width = take(keys, "width", "8"), size = take(keys, "block_size", "32");
  if (width == "8") return fmt::format("mxint8 block_size={}", size);
  return fmt::format("block_fp width={} exponent_rule=clip block_size={}", width, size);
}

Result<std::string> mxfp(std::string_view, MaseKeys& keys) {
  static constexpr std::string_view kElements[] = {"8_e4m3", "8_e5m2", "6_e2m3", "6_e3m2", "4_e2m1"};
  const std::string exponent = take(keys, "exponent_width", "4"), fraction = take(keys, "frac_width", "3");
  const std::string bits = fmt::format("_e{}m{}", exponent, fraction);
  const auto* const found =
      std::ranges::find_if(kElements, [&](std::string_view one) { return one.substr(1) == bits; });
  if (found == std::end(kElements))
    return error_at(
        Code::unsupported, {},
        fmt::format("mxfp with {} exponent bits and {} fraction bits", shown(exponent), shown(fraction)),
        "4 and 3, 5 and 2, 2 and 3, 3 and 2, or 2 and 1");
  return fmt::format("mxfp{} block_size={}", *found, take(keys, "block_size", "32"));
}

// MASE scales each row. Activations have one scale here, found at run time.
Result<std::string> scale_integer(std::string_view part, MaseKeys& keys) {
  const std::string width = take(keys, "width", "8");
  const bool is_signed = take(keys, "is_signed", "true") == "true";
  const std::string_view groups = part == "weight" ? "channel" : part == "bias" ? "tensor" : "dynamic";
  return fmt::format("{}int{} sym {}", is_signed ? "" : "u", width, groups);
}

struct Renamed {
  std::string_view scheme;
  Result<std::string> (*spec)(std::string_view part, MaseKeys& keys);
};
constexpr Renamed kRenamed[] = {{"mxint", mxint}, {"mxfp", mxfp}, {"scale_integer", scale_integer}};

const Renamed* renamed(std::string_view scheme) {
  const auto* const found = std::ranges::find(kRenamed, scheme, &Renamed::scheme);
  return found == std::end(kRenamed) ? nullptr : found;
}

}  // namespace

Result<void> check_mase_scheme(std::string_view scheme) {
  const auto* const found = std::ranges::find(kMissing, scheme, &Missing::scheme);
  if (found == std::end(kMissing)) return {};
  return error_at(Code::unsupported, {}, fmt::format("MASE's scheme '{}' is not supported yet", scheme),
                  std::string(found->instead));
}

bool has_other_name(std::string_view scheme) { return renamed(scheme) != nullptr; }

Result<std::string> spec_of_mase(std::string_view scheme, std::string_view part, MaseKeys keys) {
  std::string spec = TRY(renamed(scheme)->spec(part, keys));
  if (keys.empty()) return spec;
  return invalid_argument(fmt::format("unknown key '{}_{}' of {}", part, shown(keys.begin()->first), scheme),
                          "width, block_size, exponent_width, frac_width as the scheme has them");
}

}  // namespace anybit::quantizing
