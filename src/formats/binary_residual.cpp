// Residual binary: the nearest of the 2^L sums of ±γ; docs/formats.md#binary_residual. The γ are given, or
// fitted: first greedily (each is the mean magnitude of the residual), then by least squares.
#include "formats/binary_residual.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/error.hpp"
#include "base/try.hpp"
#include "formats/block.hpp"
#include "formats/sums.hpp"
#include "formats/table.hpp"

namespace anybit::formats {
namespace {

constexpr int kMostLevels = 8;
constexpr std::int64_t kLevels = 2;  // default
constexpr int kRounds = 16;          // of least squares; most groups stop improving after a few
using Gammas = std::array<double, kMostLevels>;

// The smallest float32 that is nearer to `high` than to `low`; on a tie that rounds up, the midpoint.
float threshold_between(float low, float high) {
  const bool tie_goes_up = std::fabs(high) >= std::fabs(low);
  // low + high as sum + rest, exact; twice a float32 can only equal it if the rest is 0.
  const double sum = static_cast<double>(low) + high;
  const double part = sum - low;
  const double rest = (low - (sum - part)) + (high - part);
  const auto belongs_high = [&](float x) {
    const double twice = 2 * static_cast<double>(x);
    if (twice != sum) return twice > sum;
    return tie_goes_up ? rest <= 0 : rest < 0;
  };
  auto x = static_cast<float>(sum / 2);
  while (!belongs_high(x)) x = std::nextafter(x, kInfinity);
  while (belongs_high(std::nextafter(x, -kInfinity))) x = std::nextafter(x, -kInfinity);
  return x;
}

// The values that γ are fitted to: the finite ones, clipped if the format clips.
std::vector<float> material(std::span<const float> values, bool clip) {
  std::vector<float> result;
  for (const float x : values) {
    if (is_nan(x) || (!clip && !is_finite(x))) continue;
    result.push_back(clip ? std::clamp(x, -1.0f, 1.0f) : x);
  }
  return result;
}

void write(Gammas gammas, int levels, Words words) {
  for (int l = 0; l < levels; ++l) {
    const double magnitude = std::fabs(gammas[static_cast<std::size_t>(l)]);
    const bool usable = magnitude > kSmallestScale;  // false for NaN too
    words[static_cast<std::size_t>(l)] = bits_of(usable ? nearest_finite_float(magnitude) : kSmallestScale);
  }
  // Bits of positive floats sort like the floats.
  std::sort(words.begin(), words.begin() + levels, std::greater<>());
}

Gammas greedy(std::span<const float> x, int levels) {
  std::vector<double> residual(x.begin(), x.end());
  Gammas gammas{};
  if (x.empty()) return gammas;
  for (int l = 0; l < levels; ++l) {
    const double sum = chunked_sum(x.size(), [&](std::size_t i) { return std::fabs(residual[i]); });
    const double gamma = sum / static_cast<double>(x.size());
    for (double& r : residual) r -= r >= 0 ? gamma : -gamma;
    gammas[static_cast<std::size_t>(l)] = gamma;
  }
  return gammas;
}

// Solves matrix · solution = right in place; false if there is no unique solution.
bool solve(std::array<Gammas, kMostLevels>& matrix, Gammas& right, std::size_t n) {
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column + 1; row < n; ++row) {
      if (std::fabs(matrix[row][column]) > std::fabs(matrix[pivot][column])) pivot = row;
    }
    if (std::fabs(matrix[pivot][column]) < 1e-9) return false;  // the entries are integers
    std::swap(matrix[pivot], matrix[column]);
    std::swap(right[pivot], right[column]);
    for (std::size_t row = 0; row < n; ++row) {
      if (row == column) continue;
      const double factor = matrix[row][column] / matrix[column][column];
      for (std::size_t k = column; k < n; ++k) matrix[row][k] -= factor * matrix[column][k];
      right[row] -= factor * right[column];
    }
  }
  for (std::size_t row = 0; row < n; ++row) right[row] /= matrix[row][row];
  return true;
}

// The result of assigning codes for a choice of γ: the count and the sum of the values of each code.
struct Assignment {
  double error = 0;  // squared, over all values
  std::array<double, std::size_t{1} << kMostLevels> count{}, sum{};

  void add(const Assignment& other) {
    error += other.error;
    for (std::size_t code = 0; code < count.size(); ++code) {
      count[code] += other.count[code];
      sum[code] += other.sum[code];
    }
  }
};

// One pass, in the chunks of every sum, so that the order of additions is fixed.
Assignment assign(std::span<const float> x, const ResidualSums& all) {
  Assignment total;
  for (std::size_t begin = 0; begin < x.size(); begin += kSumChunk) {
    Assignment chunk;
    for (const float value : x.subspan(begin, std::min(kSumChunk, x.size() - begin))) {
      const auto above = std::upper_bound(all.thresholds.begin(), all.thresholds.end(), value);
      const auto step = static_cast<std::size_t>(above - all.thresholds.begin());
      const double difference = static_cast<double>(value) - all.values[step];
      chunk.error += difference * difference;
      chunk.count[all.codes[step]] += 1;
      chunk.sum[all.codes[step]] += value;
    }
    total.add(chunk);
  }
  return total;
}

// The γ with the least squared error for the assigned codes.
bool least_squares(const Assignment& assigned, int levels, Gammas& gammas) {
  const auto n = static_cast<std::size_t>(levels);
  const auto sign = [&](std::size_t code, std::size_t l) {
    return (code >> (n - 1 - l) & 1) != 0 ? 1.0 : -1.0;
  };
  std::array<Gammas, kMostLevels> matrix{};
  gammas = {};
  for (std::size_t code = 0; code < std::size_t{1} << n; ++code) {
    for (std::size_t row = 0; row < n; ++row) {
      for (std::size_t column = 0; column < n; ++column) {
        matrix[row][column] += sign(code, row) * sign(code, column) * assigned.count[code];
      }
      gammas[row] += sign(code, row) * assigned.sum[code];
    }
  }
  return solve(matrix, gammas, n);
}

// "0.5,0.25": positive, finite, one per level.
Result<std::vector<float>> parse_gammas(std::string_view text, int levels) {
  std::vector<float> gammas;
  const auto fail = [&] {
    return invalid_argument(fmt::format("gammas = {} is not possible", shown(text)),
                            fmt::format("auto, or {} positive numbers, comma-separated", levels));
  };
  for (const char *at = text.data(), *end = text.data() + text.size(); at <= end; ++at) {
    float gamma = 0;
    const auto [after, problem] = std::from_chars(at, end, gamma);
    const bool more = after != end;
    if (problem != std::errc() || (more && *after != ',') || !check_scale(gamma).ok()) return fail();
    gammas.push_back(gamma);
    at = after;
  }
  if (gammas.size() != static_cast<std::size_t>(levels)) return fail();
  std::sort(gammas.begin(), gammas.end(), std::greater<>());
  return gammas;
}

// Activations are in -1 … 1; steps that halve cover it uniformly.
void settle(Values& given) {
  if (given.count("gammas") != 0) return;
  const auto levels = given.find("levels");
  const std::int64_t count = levels == given.end() ? kLevels : std::get<std::int64_t>(levels->second);
  std::string gammas;
  double step = 1;
  for (std::int64_t i = 0; i < count; ++i) gammas += fmt::format("{}{}", i ? "," : "", step /= 2);
  given["gammas"] = gammas;
  given["clip"] = true;
}

Result<std::shared_ptr<const Codec>> make_residual(const Values& values) {
  const int levels = integer(values, "levels");
  const std::string& text = word(values, "gammas");
  std::vector<float> given;
  if (text != "auto") given = TRY(parse_gammas(text, levels));
  return std::make_shared<const ResidualCodec>(levels, std::move(given), flag(values, "clip"));
}

}  // namespace

float ResidualCodec::value(Code16 code, ConstWords words) const {
  double sum = 0;
  for (int l = 0; l < levels_; ++l) {
    const float gamma = float_of(words[static_cast<std::size_t>(l)]);
    sum += (code >> (levels_ - 1 - l) & 1) != 0 ? gamma : -gamma;
  }
  return nearest_finite_float(sum);
}

ResidualSums ResidualCodec::sums(ConstWords words) const {
  std::vector<Code16> order(std::size_t{1} << levels_);
  std::iota(order.begin(), order.end(), Code16{0});
  std::vector<float> by_code(order.size());
  for (const Code16 code : order) by_code[code] = value(code, words);
  // Of codes with the same value the highest is canonical: it is sorted first, and the others are dropped.
  std::sort(order.begin(), order.end(),
            [&](Code16 a, Code16 b) { return by_code[a] != by_code[b] ? by_code[a] < by_code[b] : a > b; });
  ResidualSums result;
  for (const Code16 code : order) {
    if (!result.values.empty() && result.values.back() == by_code[code]) continue;
    if (!result.values.empty()) {
      result.thresholds.push_back(threshold_between(result.values.back(), by_code[code]));
    }
    result.values.push_back(by_code[code]);
    result.codes.push_back(code);
  }
  return result;
}

Properties ResidualCodec::properties() const {
  // Without given γ: as if they were 1, ½, ¼, …
  std::vector<std::uint32_t> words;
  for (int l = 0; l < levels_; ++l) {
    words.push_back(bits_of(given_.empty() ? power_of_two(-l) : given_[static_cast<std::size_t>(l)]));
  }
  const std::vector<float> values = sums(words).values;
  const auto positive = std::upper_bound(values.begin(), values.end(), 0.0f);
  return {.bits = levels_,
          .largest = values.back(),
          .lowest = values.front(),
          .smallest = *positive,
          .zero = std::binary_search(values.begin(), values.end(), 0.0f),
          .layout = std::string(static_cast<std::size_t>(levels_), 's')};
}

std::vector<Field> ResidualCodec::fields(std::int64_t) const { return {{.name = "gamma", .count = levels_}}; }

void ResidualCodec::choose(std::span<const float> values, Words words) const {
  if (!given_.empty()) {
    std::transform(given_.begin(), given_.end(), words.begin(), bits_of);
    return;
  }
  const std::vector<float> x = material(values, clip_);
  write(greedy(x, levels_), levels_, words);
  Assignment best = assign(x, sums(words));
  std::vector<std::uint32_t> candidate(words.begin(), words.end());
  Gammas gammas{};
  for (int round = 0; round < kRounds && best.error > 0 && least_squares(best, levels_, gammas); ++round) {
    write(gammas, levels_, candidate);
    const Assignment next = assign(x, sums(candidate));
    if (next.error >= best.error) break;
    best = next;
    std::copy(candidate.begin(), candidate.end(), words.begin());
  }
}

Result<void> ResidualCodec::choose_from_range(Range range, Words words) const {
  if (given_.empty()) return Codec::choose_from_range(range, words);
  choose({}, words);
  return {};
}

Result<void> ResidualCodec::check(ConstWords words) const {
  for (std::size_t l = 0; l < static_cast<std::size_t>(levels_); ++l) {
    TRY(check_scale(float_of(words[l])));
    if (l > 0 && float_of(words[l]) > float_of(words[l - 1])) {
      return invalid_argument("the gammas are not in descending order", "the largest first");
    }
  }
  return {};
}

void ResidualCodec::encode(std::span<const float> values, ConstWords words, Draw, Code16* codes) const {
  const ResidualSums all = sums(words);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float number = is_nan(values[i]) ? 0.0f : values[i];
    const float x = clip_ ? std::clamp(number, -1.0f, 1.0f) : number;
    const auto above = std::upper_bound(all.thresholds.begin(), all.thresholds.end(), x);
    codes[i] = all.codes[static_cast<std::size_t>(above - all.thresholds.begin())];
  }
}

void ResidualCodec::decode(std::span<const Code16> codes, ConstWords words, float* values) const {
  const auto mask = static_cast<Code16>((1u << levels_) - 1);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    values[i] = value(static_cast<Code16>(codes[i] & mask), words);
  }
}

Range ResidualCodec::range(ConstWords words) const {
  return {value(0, words), value(static_cast<Code16>((1u << levels_) - 1), words)};
}

std::span<const Descriptor> binary_residual_descriptors() {
  static const Descriptor all[] = {
      {.name = "binary_residual",
       .family = "binary_residual",
       .summary = "residual binary: a sum of ±steps, one bit per step",
       .parameters = {{"levels", kLevels, "number of steps, and bits per value", 1, kMostLevels},
                      {"gammas", std::string("auto"),
                       "the steps, \"0.5,0.25\"; auto: fitted to the data by least squares"},
                      {"clip", false, "clip to -1 … 1 first, as for activations"}},
       .granularity = Granularity::tensor,
       .vanishing = true,
       .settle = settle,
       .make = make_residual},
  };
  return all;
}

}  // namespace anybit::formats
