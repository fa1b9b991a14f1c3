#include "api/sample_stream.hpp"

#include "api/value.hpp"
#include "base/error.hpp"
#include "base/try.hpp"

namespace anybit {

Result<std::optional<std::map<std::string, ops::Datum>>> SampleStream::next() {
  auto sample = TRY(samples_.next());
  if (!sample) return std::optional<std::map<std::string, ops::Datum>>();
  std::map<std::string, ops::Datum> inputs;
  for (const auto& [name, value] : *sample) {
    auto datum = to_datum(value);
    if (!datum.ok()) return std::move(datum).error().within(fmt::format("input '{}'", shown(name)));
    inputs.emplace(name, std::move(datum).value());
  }
  remember(samples_.name());
  return std::optional(std::move(inputs));
}

std::string SampleStream::name(std::int64_t number) {
  const std::lock_guard lock(mutex_);
  const std::int64_t first = given_ - std::ssize(names_);
  return number >= first && number < given_ ? names_[static_cast<std::size_t>(number - first)]
                                            : std::string();
}

void SampleStream::remember(std::string name) {
  constexpr std::size_t kNames = 16384;
  const std::lock_guard lock(mutex_);
  names_.push_back(std::move(name));
  if (names_.size() > kNames) names_.pop_front();
  ++given_;
}

}  // namespace anybit
