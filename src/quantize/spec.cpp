#include "quantize/spec.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"
#include "calibrate/table.hpp"

namespace anybit::quantizing {
namespace {

constexpr std::string_view kFormats[] = {"float", "int2",  "int4",  "int8",  "int16",
                                         "uint2", "uint4", "uint8", "uint16"};

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// Reads the words behind the format, one after the other.
class Reader {
 public:
  Reader(std::vector<std::string> words, Spec& spec) : words_(std::move(words)), spec_(spec) {}

  Result<void> read() {
    for (at_ = 1; at_ < words_.size(); ++at_) TRY(read_word(words_[at_]));
    return {};
  }

 private:
  // Of words that say the same thing differently, only one can be meant.
  static Result<void> only(std::string& given, const std::string& word) {
    if (!given.empty() && given != word)
      return invalid_argument(fmt::format("'{}' and '{}' contradict each other", given, word), "one of them");
    given = word;
    return {};
  }

  Result<void> read_word(const std::string& word) {
    if (word == "sym" || word == "asym") {
      TRY(only(symmetry_, word));
      spec_.symmetric = word == "sym";
    } else if (word == "tensor" || word == "channel") {
      TRY(only(granularity_, word));
      spec_.granularity = word == "tensor" ? Granularity::tensor : Granularity::channel;
    } else if (word == "block") {
      TRY(only(granularity_, word));
      spec_.granularity = Granularity::block;
      if (const auto size = next<std::int64_t>()) spec_.block_size = *size;
      if (spec_.block_size < 1) return invalid_argument("a block of no values", "block 32");
    } else if (word == "dynamic") {
      spec_.dynamic = true;
    } else if (word == "full") {
      spec_.narrow = false;
    } else {
      return read_observer(word);
    }
    return {};
  }

  Result<void> read_observer(const std::string& word) {
    std::vector<std::string_view> known{"sym", "asym", "tensor", "channel", "block", "dynamic", "full"};
    for (const calibrate::Descriptor* one : calibrate::table()) {
      known.push_back(one->name);
      if (one->name != word) continue;
      TRY(only(observer_, word));
      spec_.observer = word;
      return word == "percentile" ? read_percentile() : Result<void>();
    }
    const std::string meant = did_you_mean(word, known);
    return invalid_argument(fmt::format("'{}' says nothing about a tensor", shown(word)),
                            meant.empty() ? "for example: int8 sym channel" : meant);
  }

  Result<void> read_percentile() {
    const auto share = next<double>();
    if (!share) return {};
    if (!(*share > 50 && *share <= 100))
      return invalid_argument(fmt::format("percentile {}", *share),
                              "above 50, at most 100: percentile 99.99");
    spec_.percentile = *share;
    return {};
  }

  template <class T>
  std::optional<T> next() {
    if (at_ + 1 >= words_.size()) return std::nullopt;
    const auto value = number<T>(words_[at_ + 1]);
    if (value) ++at_;
    return value;
  }

  std::vector<std::string> words_;
  Spec& spec_;
  std::string symmetry_, granularity_, observer_;  // the words that were given
  std::size_t at_ = 0;
};

// A format of src/formats, then pairs of a name and a value: its parameters, axis, block, rounding.
Result<Spec> read_coded(const formats::Descriptor& format, const std::vector<std::string>& words) {
  std::string text(format.name);
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "tensor" || word == "channel") {
      text += " granularity=" + word;
    } else if (word.find('=') != std::string::npos) {
      text += " " + word;
    } else if (i + 1 < words.size()) {
      text += " " + (word == "block" ? "block_size" : word) + "=" + words[++i];
    } else {
      return invalid_argument(fmt::format("'{}' has no value", shown(word)),
                              fmt::format("for example: {} block 32", format.name));
    }
  }
  Spec spec;
  spec.format = format.name;
  spec.coded = TRY(formats::read_use(text));
  return spec;
}

}  // namespace

graph::ElementType Spec::element() const {
  const graph::ElementTypeInfo* found = is_float() ? nullptr : graph::find_element_type(format);
  return found ? found->type : graph::ElementType::undefined;
}

Result<Spec> parse_spec(std::string_view text) {
  const std::vector<std::string> words = words_of(text);
  if (words.empty()) return invalid_argument("no format is named", "for example: int8 sym channel");
  Spec spec;
  spec.format = words[0] == "none" || words[0] == "float32" ? "float" : words[0];
  if (std::ranges::find(kFormats, spec.format) == std::end(kFormats))
    return read_coded(*TRY(formats::find(spec.format)), words);
  if (spec.is_float() && words.size() > 1)
    return invalid_argument(fmt::format("'{}': float has no parameters", shown(std::string(text))), "float");
  TRY(Reader(words, spec).read());
  return spec;
}

std::string to_string(const Spec& spec) {
  if (spec.is_float()) return "float";
  if (spec.is_coded()) return formats::to_string(*spec.coded);
  std::string text = fmt::format("{} {}", spec.format, spec.symmetric ? "sym" : "asym");
  if (spec.granularity == Granularity::channel) text += " channel";
  if (spec.granularity == Granularity::block) text += fmt::format(" block {}", spec.block_size);
  if (spec.dynamic) text += " dynamic";
  if (!spec.narrow) text += " full";
  if (spec.observer != "minmax") text += " " + spec.observer;
  if (spec.percentile != 0) text += fmt::format(" {}", spec.percentile);
  return text;
}

}  // namespace anybit::quantizing
