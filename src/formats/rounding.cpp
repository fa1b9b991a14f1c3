#include "formats/rounding.hpp"

#include <array>

#include "base/error.hpp"
#include "base/nearest.hpp"

namespace anybit::formats {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"half_even",   "half_away", "half_up",
                                                    "toward_zero", "floor",     "stochastic"};

}  // namespace

std::string_view name_of(Rounding rounding) { return kNames[static_cast<std::size_t>(rounding)]; }

Result<Rounding> rounding_named(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Rounding>(i);
  }
  std::string hint = did_you_mean(name, kNames);
  if (hint.empty()) hint = fmt::format("one of {}", fmt::join(kNames, ", "));
  return invalid_argument(fmt::format("there is no rounding '{}'", name), std::move(hint));
}

}  // namespace anybit::formats
