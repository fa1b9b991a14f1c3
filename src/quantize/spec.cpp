#include "quantize/spec.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"
#include "calibrate/table.hpp"
#include "lower/standard.hpp"
#include "quantize/parameters.hpp"

namespace anybit::quantizing {
namespace {

constexpr std::int64_t kBlock = 32;  // default block size of integers

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

struct Integer {
  int bits = 0;
  bool is_signed = true;
};

// "int8", "uint5".
std::optional<Integer> integer_named(std::string_view format) {
  const bool is_signed = !format.starts_with('u');
  if (!is_signed) format.remove_prefix(1);
  if (!format.starts_with("int")) return std::nullopt;
  const auto bits = number<int>(format.substr(3));
  return bits ? std::optional(Integer{*bits, is_signed}) : std::nullopt;
}

// The narrowest ONNX type that holds its values.
graph::ElementType type_of(const Integer& integer) {
  for (const int bits : {2, 4, 8, 16, 32}) {
    if (integer.bits > bits) continue;
    return graph::find_element_type(fmt::format("{}int{}", integer.is_signed ? "" : "u", bits))->type;
  }
  return graph::ElementType::undefined;
}

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// Parses the words after the format, one by one.
class Reader {
 public:
  // Parses words after a format.
  Reader(std::vector<std::string> words, const formats::Descriptor& format)
      : words_(std::move(words)), format_(format), at_(1) {
    spec_.use.format = format.name;
    if (!spec_.is_integer()) return;
    spec_.source = Spec::Source::ranges;
    if (is_plain()) spec_.set_symmetric(false);
  }
  // Parses words that modify `base`.
  Reader(std::vector<std::string> words, const formats::Descriptor& format, const Spec& base)
      : words_(std::move(words)), format_(format), spec_(base) {}

  Result<Spec> read() {
    for (; at_ < words_.size(); ++at_) TRY(read_word(words_[at_]));
    if (has_numbers()) TRY(settle_numbers());
    if (!parameters_.empty()) TRY(read_parameters());
    if (spec_.is_integer() && spec_.use.grouping.axis && spec_.granularity() == Granularity::tensor)
      return invalid_argument(fmt::format("axis={} and one scale for the tensor", *spec_.use.grouping.axis),
                              fmt::format("{} sym channel axis=0", format_.name));
    return std::move(spec_);
  }

 private:
  Result<void> read_parameters() {
    // Checks and completes the parameters of the format.
    const formats::Use given = TRY(formats::read_use(std::string(format_.name) + parameters_));
    for (const auto& [name, value] : given.parameters) spec_.use.parameters[name] = value;
    if (given.grouping.granularity) spec_.use.grouping.granularity = given.grouping.granularity;
    if (given.grouping.axis) spec_.use.grouping.axis = given.grouping.axis;
    if (given.grouping.block_size) spec_.use.grouping.block_size = given.grouping.block_size;
    spec_.use.rounding = given.rounding;
    spec_.use.rank = given.rank;
    return {};
  }

  // Integers that QuantizeLinear supports. Their words are a closed set, so that a typo is not taken for a
  // parameter.
  bool is_plain() const { return spec_.is_integer() && spec_.has_own_type(); }

  // Rejects a second word for the same property.
  static Result<void> only(std::string& given, const std::string& word) {
    if (!given.empty() && given != word)
      return invalid_argument(fmt::format("'{}' and '{}' contradict each other", given, word), "one of them");
    given = word;
    return {};
  }

  Result<void> read_word(const std::string& word) {
    if (word == "sym" || word == "asym") {
      TRY(only(symmetry_, word));
      return read_symmetry(word == "sym");
    }
    if (word == "tensor" || word == "channel") {
      TRY(only(granularity_, word));
      spec_.set_granularity(word == "tensor" ? Granularity::tensor : Granularity::channel);
      return {};
    }
    if (word == "block" && (spec_.is_integer() || next_is_number())) {
      TRY(only(granularity_, word));
      return read_block();
    }
    if (word == "dynamic") {
      spec_.source = Spec::Source::runtime;
      dynamic_ = true;
      return {};
    }
    if (word == "full" && spec_.is_integer()) {
      spec_.use.parameters["narrow"] = std::string("false");
      return {};
    }
    if (is_observer(word)) return read_observer(word);
    if ((word == "scale" && next_is_real()) || word == "zero_point" || word == "range")
      return read_numbers(word);
    return read_parameter(word);
  }

  // --- numbers that are given ---

  bool next_is_real() const {
    if (at_ + 1 >= words_.size()) return false;
    const std::string& text = words_[at_ + 1];
    return number<double>(std::string_view(text).substr(0, text.find(','))).has_value();
  }
  bool has_numbers() const {
    const Spec::Given& given = spec_.given;
    return !given.scales.empty() || !given.zero_points.empty() || given.range;
  }

  // Numbers separated by commas.
  template <class T>
  Result<std::vector<T>> list(std::string_view what) {
    if (at_ + 1 >= words_.size())
      return invalid_argument(fmt::format("'{}' has no number", what), "for example: uint8 scale 0.02");
    std::vector<T> all;
    for (std::string_view rest = words_[++at_];;) {
      const std::size_t comma = rest.find(',');
      const auto one = number<T>(rest.substr(0, comma));
      if (!one)
        return invalid_argument(
            fmt::format("{}: '{}' is not a valid number", what, shown(std::string(rest.substr(0, comma)))),
            what == "zero_point" ? "an integer: zero_point 128" : fmt::format("{} 0.02", what));
      all.push_back(*one);
      if (comma == std::string_view::npos) return all;
      rest.remove_prefix(comma + 1);
    }
  }

  Result<void> read_numbers(const std::string& word) {
    if (word == "scale") {
      spec_.given.scales = TRY(list<float>(word));
    } else if (word == "zero_point") {
      spec_.given.zero_points = TRY(list<std::int32_t>(word));
    } else {
      const auto low = TRY(list<float>(word)), high = TRY(list<float>(word));
      if (low.size() != 1 || high.size() != 1)
        return invalid_argument("range: two numbers, the lower first", "range -1 1");
      spec_.given.range = {low[0], high[0]};
    }
    spec_.source = Spec::Source::given;
    return {};
  }

  Result<void> settle_numbers() {
    const Spec::Given& given = spec_.given;
    if (dynamic_ || !observer_.empty())
      return invalid_argument("a given scale or range excludes an observer and 'dynamic'",
                              "either numbers, or an observer or 'dynamic'");
    if (given.range) {
      if (!given.scales.empty() || !given.zero_points.empty())
        return invalid_argument("'range' and 'scale' are given", "one of them");
      const auto [low, high] = *given.range;
      if (!(std::isfinite(low) && std::isfinite(high) && low < high))
        return invalid_argument(fmt::format("range {} {}", low, high), "two finite numbers, the lower first");
      return {};
    }
    TRY(check_scales());
    return check_zero_points();
  }

  Result<void> check_scales() {
    const std::vector<float>& scales = spec_.given.scales;
    if (scales.empty()) return invalid_argument("a zero point without a scale", "scale 0.02 zero_point 128");
    for (const float scale : scales) {
      if (!(std::isnormal(scale) && scale > 0))
        return invalid_argument(fmt::format("scale {}", scale), "a positive, finite number");
    }
    const bool one = scales.size() == 1;
    if (granularity_.empty()) spec_.set_granularity(one ? Granularity::tensor : Granularity::channel);
    if (!one && spec_.granularity() != Granularity::channel)
      return invalid_argument(fmt::format("{} scales for a {}", scales.size(), granularity_),
                              "one, or 'channel' and one for each");
    return {};
  }

  Result<void> check_zero_points() {
    const std::vector<std::int32_t>& zeros = spec_.given.zero_points;
    if (zeros.empty()) return {};
    if (!spec_.is_integer())
      return invalid_argument(fmt::format("'zero_point': {} has none", format_.name), "scale alone");
    if (zeros.size() != 1 && zeros.size() != spec_.given.scales.size())
      return invalid_argument(
          fmt::format("{} zero points for {} scales", zeros.size(), spec_.given.scales.size()),
          "one, or as many");
    const graph::IntegerRange integers = spec_.integers();
    for (const std::int32_t zero : zeros) {
      if (zero < integers.low || zero > integers.high)
        return invalid_argument(fmt::format("zero_point {} is out of the range of {}", zero, format_.name),
                                fmt::format("{} to {}", integers.low, integers.high));
      if (zero == middle(integers)) continue;
      if (symmetry_ == "sym")
        return invalid_argument(fmt::format("'sym' and zero_point {}", zero),
                                fmt::format("asym, or zero_point {}", middle(integers)));
      spec_.set_symmetric(false);
    }
    return {};
  }

  Result<void> read_symmetry(bool symmetric) {
    if (spec_.is_integer()) {
      spec_.set_symmetric(symmetric);
    } else if (!symmetric) {
      return invalid_argument(fmt::format("'asym': {} has no zero point", format_.name), "sym");
    }
    return {};
  }

  bool next_is_number() const {
    return at_ + 1 < words_.size() && number<std::int64_t>(words_[at_ + 1]).has_value();
  }

  Result<void> read_block() {
    const auto size = next<std::int64_t>();
    if (size.value_or(kBlock) < 1)
      return invalid_argument(fmt::format("block size {} is not possible", *size), "1 or more: block 32");
    spec_.use.grouping.block_size = size.value_or(kBlock);
    // Other formats use blocks as soon as a size is given.
    if (spec_.is_integer()) spec_.use.grouping.granularity = Granularity::block;
    return {};
  }

  static bool is_observer(const std::string& word) {
    return std::ranges::any_of(calibrate::table(), [&](const auto* one) { return one->name == word; });
  }

  Result<void> read_observer(const std::string& word) {
    TRY(only(observer_, word));
    spec_.observer = word;
    if (spec_.source != Spec::Source::runtime) spec_.source = Spec::Source::ranges;
    if (word != "percentile") return {};
    const auto share = next<double>();
    if (!share) return {};
    if (!(*share > 50 && *share <= 100))
      return invalid_argument(fmt::format("percentile {}", *share),
                              "above 50, at most 100: percentile 99.99");
    spec_.percentile = *share;
    return {};
  }

  // A parameter of the format, axis or rounding: "name=value", or a name and a value.
  Result<void> read_parameter(const std::string& word) {
    if (is_plain() && !word.starts_with("axis=")) return unknown(word);
    if (word.find('=') != std::string::npos) {
      parameters_ += " " + word;
    } else if (at_ + 1 < words_.size()) {
      parameters_ += " " + (word == "block" ? "block_size" : word) + "=" + words_[++at_];
    } else {
      return invalid_argument(fmt::format("'{}' has no value", shown(word)),
                              fmt::format("for example: {} block 32", format_.name));
    }
    return {};
  }

  static Error unknown(const std::string& word) {
    std::vector<std::string_view> known{"sym",     "asym", "tensor", "channel",    "block",
                                        "dynamic", "full", "scale",  "zero_point", "range"};
    for (const calibrate::Descriptor* one : calibrate::table()) known.push_back(one->name);
    const std::string meant = did_you_mean(word, known);
    return invalid_argument(fmt::format("'{}' is not a property of a tensor", shown(word)),
                            meant.empty() ? "for example: int8 sym channel" : meant);
  }

  template <class T>
  std::optional<T> next() {
    if (at_ + 1 >= words_.size()) return std::nullopt;
    const auto value = number<T>(words_[at_ + 1]);
    if (value) ++at_;
    return value;
  }

  std::vector<std::string> words_;
  const formats::Descriptor& format_;
  Spec spec_;
  std::string parameters_;                         // in the syntax of formats::read_use()
  std::string symmetry_, granularity_, observer_;  // the given words
  bool dynamic_ = false;                           // "dynamic" was given
  std::size_t at_ = 0;                             // index of the current word
};

}  // namespace

bool Spec::is_integer() const { return integer_named(use.format).has_value(); }

bool Spec::symmetric() const {
  const auto found = use.parameters.find("symmetric");
  if (found != use.parameters.end()) return std::get<bool>(found->second);
  const auto integer = integer_named(use.format);
  return !integer || integer->is_signed;
}

void Spec::set_symmetric(bool symmetric) { use.parameters["symmetric"] = symmetric; }

Granularity Spec::granularity() const {
  const auto format = formats::find(use.format);
  formats::GroupingOptions grouping = use.grouping;
  if (format.ok()) grouping = formats::with_profile(**format, use.parameters, grouping);
  if (grouping.granularity) return *grouping.granularity;
  return grouping.block_size ? Granularity::block
         : format.ok()       ? (*format)->granularity
                             : Granularity::tensor;
}

void Spec::set_granularity(Granularity granularity) {
  use.grouping.granularity = granularity;
  if (granularity != Granularity::block) use.grouping.block_size.reset();
}

std::int64_t Spec::block_size() const { return use.grouping.block_size.value_or(kBlock); }

graph::ElementType Spec::element() const {
  if (const auto integer = integer_named(use.format)) return type_of(*integer);
  return is_float() ? graph::ElementType::undefined : lower::linear_float(use);
}

bool Spec::is_linear() const {
  return is_static() || (has_own_type() && granularity() != Granularity::element);
}

bool Spec::has_own_type() const {
  const graph::ElementType type = element();
  if (type == graph::ElementType::undefined) return false;
  const auto integer = integer_named(use.format);
  return !integer || graph::find(type)->bits == integer->bits;
}

graph::IntegerRange Spec::integers() const {
  const auto integer = integer_named(use.format);
  if (!integer || integer->bits > 16) return graph::integer_range(element());
  const std::int32_t half = 1 << (integer->bits - 1);
  return integer->is_signed ? graph::IntegerRange{integer->bits, -half, half - 1}
                            : graph::IntegerRange{integer->bits, 0, 2 * half - 1};
}

Result<Spec> parse_spec(std::string_view text, const Spec& base) {
  const std::vector<std::string> words = words_of(text);
  if (words.empty() || words[0] == "float" || formats::find(words[0]).ok()) return parse_spec(text);
  return Reader(words, *TRY(formats::find(base.format())), base).read();
}

Result<Spec> parse_spec(std::string_view text) {
  const std::vector<std::string> words = words_of(text);
  if (words.empty()) return invalid_argument("no format is named", "for example: int8 sym channel");
  if (words[0] == "none" || words[0] == "float32" || words[0] == "float") {
    if (words.size() == 1) return Spec{};
    return invalid_argument(fmt::format("'{}': float has no parameters", shown(std::string(text))), "float");
  }
  return Reader(words, *TRY(formats::find(words[0]))).read();
}

std::string to_string(const Spec& spec) {
  if (spec.is_float()) return "float";
  std::string text;
  if (spec.is_integer()) {
    text = fmt::format("{} {}", spec.format(), spec.symmetric() ? "sym" : "asym");
    if (spec.granularity() == Granularity::channel) text += " channel";
    if (spec.granularity() == Granularity::block) text += fmt::format(" block {}", spec.block_size());
    if (spec.is_dynamic()) text += " dynamic";
    if (spec.use.parameters.count("narrow")) text += " full";
    if (spec.observer != "minmax") text += " " + spec.observer;
  } else {
    text = formats::to_string(spec.use);
    if (spec.is_static() && !spec.is_given()) text += " " + spec.observer;
  }
  if (spec.percentile != 0) text += fmt::format(" {}", spec.percentile);
  if (!spec.is_given()) return text;
  const Spec::Given& given = spec.given;
  if (given.range) text += fmt::format(" range {} {}", given.range->first, given.range->second);
  if (!given.scales.empty()) text += fmt::format(" scale {}", fmt::join(given.scales, ","));
  if (!given.zero_points.empty()) text += fmt::format(" zero_point {}", fmt::join(given.zero_points, ","));
  return text;
}

}  // namespace anybit::quantizing
