#include "calibrate/exact_sums.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "base/try.hpp"
#include "calibrate/fields.hpp"

namespace anybit::calibrate {
namespace {

std::string text_of(std::span<const std::int64_t> digits) {
  fmt::memory_buffer text;
  for (std::size_t i = 0; i < digits.size(); ++i)
    fmt::format_to(std::back_inserter(text), "{}{}", i == 0 ? "" : " ", digits[i]);
  return fmt::format("\"{}\"", std::string_view(text.data(), text.size()));
}

// Reads `count` numbers with magnitudes of at most `most`.
Result<std::vector<std::int64_t>> digits_of(const JsonTree& from, const char* name, std::int64_t count,
                                            std::int64_t most) {
  const JsonTree* found = from.find(name);
  const std::string* text = found ? found->text() : nullptr;
  if (!text) return damaged(fmt::format("'{}' is not a string of numbers", name));
  std::vector<std::int64_t> digits;
  for (const char *at = text->data(), *end = at + text->size(); at < end;) {
    std::int64_t digit = 0;
    const auto [stop, problem] = std::from_chars(at, end, digit);
    if (problem != std::errc() || digit > most || digit < -most || (stop != end && *stop != ' '))
      return damaged(fmt::format("'{}' has an invalid number", name));
    digits.push_back(digit);
    at = stop == end ? end : stop + 1;
  }
  if (std::ssize(digits) != count)
    return damaged(fmt::format("'{}' has {} numbers, not {}", name, digits.size(), count));
  return digits;
}

}  // namespace

double ExactSums::operator[](std::size_t i) const {
  return std::ldexp(static_cast<double>(high_[i]), kDigit * top_) +
         std::ldexp(static_cast<double>(low_[i]), kDigit * (top_ - 1));
}

// Drops digits below the two that are kept. Digits are aligned to fixed positions, so the order does not
// matter.
void ExactSums::raise(int top) {
  if (top <= top_) return;
  if (top == top_ + 1) {
    low_.swap(high_);
  } else {
    std::ranges::fill(low_, 0);
  }
  std::ranges::fill(high_, 0);
  top_ = top;
}

Result<void> ExactSums::add(std::span<const double> numbers) {
  if (++added_ > kMostAdded)
    return error_at(Code::limit_exceeded, {}, fmt::format("sums of more than {} numbers", kMostAdded),
                    "fewer samples");
  double largest = 0;
  for (const double one : numbers) largest = std::max(largest, std::abs(one));
  if (largest == 0) return {};
  const int exponent = std::ilogb(largest);
  raise(std::clamp((exponent < 0 ? exponent - kDigit + 1 : exponent) / kDigit, kLowest, kHighest));
  const double unit = std::ldexp(1.0, -kDigit * top_), next = std::ldexp(1.0, kDigit);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double scaled = numbers[i] * unit;
    const auto high = static_cast<std::int64_t>(scaled);
    high_[i] += high;
    low_[i] += static_cast<std::int64_t>((scaled - static_cast<double>(high)) * next);
  }
  return {};
}

Result<void> ExactSums::merge(const ExactSums& other) {
  if (added_ + other.added_ > kMostAdded)
    return error_at(Code::limit_exceeded, {}, fmt::format("sums of more than {} numbers", kMostAdded),
                    "fewer samples");
  added_ += other.added_;
  raise(other.top_);
  for (std::size_t i = 0; i < high_.size(); ++i) {
    if (other.top_ == top_) {
      high_[i] += other.high_[i];
      low_[i] += other.low_[i];
    } else if (other.top_ + 1 == top_) {
      low_[i] += other.high_[i];
    }
  }
  return {};
}

void ExactSums::write(JsonMembers& to) const {
  to.emplace_back("added", std::to_string(added_));
  to.emplace_back("digit", std::to_string(top_));
  to.emplace_back("high", text_of(high_));
  to.emplace_back("low", text_of(low_));
}

Result<void> ExactSums::read(const JsonTree& from, std::int64_t count) {
  added_ = TRY(integer(from, "added"));
  const double top = TRY(real(from, "digit"));
  if (added_ > kMostAdded || !(top >= kLowest && top <= kHighest) || top != std::trunc(top))
    return damaged("the sums are inconsistent");
  top_ = static_cast<int>(top);
  high_ = TRY(digits_of(from, "high", count, added_ << kDigit));
  low_ = TRY(digits_of(from, "low", count, added_ << kDigit));
  return {};
}

}  // namespace anybit::calibrate
