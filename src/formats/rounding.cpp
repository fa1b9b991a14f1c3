// Names of the public enumerations.
#include "formats/rounding.hpp"

#include <array>

#include "base/error.hpp"
#include "base/guard.hpp"
#include "base/nearest.hpp"

namespace anybit {
namespace {

constexpr std::array<std::string_view, 6> kRoundings = {"half_even",   "half_away", "half_up",
                                                        "toward_zero", "floor",     "stochastic"};
constexpr std::array<std::string_view, 4> kGranularities = {"element", "tensor", "channel", "block"};

Result<std::size_t> index_in(std::span<const std::string_view> names, std::string_view kind,
                             std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return i;
  }
  std::string hint = did_you_mean(name, names);
  if (hint.empty()) hint = fmt::format("one of {}", fmt::join(names, ", "));
  return invalid_argument(fmt::format("there is no {} '{}'", kind, shown(name)), std::move(hint));
}

template <class Enum>
Result<Enum> named(std::span<const std::string_view> names, std::string_view kind,
                   std::string_view name) noexcept {
  return guarded([&]() -> Result<Enum> {
    const auto index = index_in(names, kind, name);
    if (!index.ok()) return index.error();
    return static_cast<Enum>(*index);
  });
}

}  // namespace

std::string_view name_of(Rounding rounding) noexcept {
  return kRoundings[static_cast<std::size_t>(rounding)];
}
std::string_view name_of(Granularity granularity) noexcept {
  return kGranularities[static_cast<std::size_t>(granularity)];
}

Result<Rounding> rounding_named(std::string_view name) noexcept {
  return named<Rounding>(kRoundings, "rounding", name);
}
Result<Granularity> granularity_named(std::string_view name) noexcept {
  return named<Granularity>(kGranularities, "granularity", name);
}

}  // namespace anybit
