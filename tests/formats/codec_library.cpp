// The codecs as plain C functions on groups, for tests in Python (ctypes). Not installed.
#include <cmath>
#include <cstdlib>
#include <string>

#include "formats/table.hpp"

namespace formats = anybit::formats;

namespace {

thread_local std::string last_error;

// "width=8;saturate=false;flavour=fn"
formats::Values parse(const char* text) {
  formats::Values values;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    const std::string name(item.substr(0, equals)), value(item.substr(equals + 1));
    char* end = nullptr;
    const long whole = std::strtol(value.c_str(), &end, 10);
    if (value == "true" || value == "false") {
      values[name] = value == "true";
    } else if (*end == '\0') {
      values[name] = std::int64_t{whole};
    } else {
      const double real = std::strtod(value.c_str(), &end);
      const bool number = *end == '\0' && std::isfinite(real);  // "nan" is the name of a policy
      values[name] = number ? formats::Value(real) : formats::Value(value);
    }
  }
  return values;
}

const formats::Codec& codec(const void* handle) {
  return **static_cast<const std::shared_ptr<const formats::Codec>*>(handle);
}

std::span<const std::uint32_t> const_words(const void* handle, std::size_t n, const std::uint32_t* words) {
  return {words, static_cast<std::size_t>(codec(handle).words(static_cast<std::int64_t>(n)))};
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

const char* codec_error() { return last_error.c_str(); }

// All names, separated by spaces.
const char* codec_names() {
  static const std::string all = [] {
    std::string text;
    for (const formats::Descriptor* one : formats::table()) text += std::string(one->name) + " ";
    return text;
  }();
  return all.c_str();
}

// Null on error; codec_error() has the message.
void* codec_make(const char* name, const char* parameters) {
  auto result = formats::make(name, parse(parameters));
  if (!result.ok()) {
    last_error = result.error().text();
    return nullptr;
  }
  return new std::shared_ptr<const formats::Codec>(*result);
}

void codec_free(void* handle) { delete static_cast<std::shared_ptr<const formats::Codec>*>(handle); }
int codec_bits(void* handle) { return codec(handle).bits(); }
int codec_words(void* handle, std::int64_t size) { return codec(handle).words(size); }

// Chooses the words (scale, exponent, …) of one group; the per-tensor words come from the same values.
void codec_choose(void* handle, const float* values, std::size_t n, std::uint32_t* words) {
  const formats::Words view{words,
                            static_cast<std::size_t>(codec(handle).words(static_cast<std::int64_t>(n)))};
  codec(handle).choose_for_tensor({values, n}, view);
  codec(handle).choose({values, n}, view);
  codec(handle).settle(view, static_cast<std::int64_t>(view.size()));
}

// As codec_choose, but the caller has filled in the per-tensor words.
void codec_choose_group(void* handle, const float* values, std::size_t n, std::uint32_t* words) {
  codec(handle).choose({values, n},
                       {words, static_cast<std::size_t>(codec(handle).words(static_cast<std::int64_t>(n)))});
}

int codec_choose_from_range(void* handle, float low, float high, std::size_t n, std::uint32_t* words) {
  const auto result = codec(handle).choose_from_range(
      {low, high}, {words, static_cast<std::size_t>(codec(handle).words(static_cast<std::int64_t>(n)))});
  if (!result.ok()) last_error = result.error().text();
  return result.ok() ? 0 : 1;
}

void codec_encode(void* handle, const float* values, std::size_t n, const std::uint32_t* words, int rounding,
                  const std::uint32_t* noise, std::uint16_t* codes) {
  const auto mode = codec(handle).rounding(static_cast<formats::Rounding>(rounding));
  codec(handle).encode({values, n}, const_words(handle, n, words), {mode, noise}, codes);
}

void codec_decode(void* handle, const std::uint16_t* codes, std::size_t n, const std::uint32_t* words,
                  float* values) {
  codec(handle).decode({codes, n}, const_words(handle, n, words), values);
}

void codec_quantize(void* handle, const float* values, std::size_t n, const std::uint32_t* words,
                    int rounding, const std::uint32_t* noise, float* out) {
  const auto mode = codec(handle).rounding(static_cast<formats::Rounding>(rounding));
  codec(handle).quantize({values, n}, const_words(handle, n, words), {mode, noise}, out);
}

void codec_range(void* handle, std::size_t n, const std::uint32_t* words, float* low, float* high) {
  const formats::Range range = codec(handle).range(const_words(handle, n, words));
  *low = range.low;
  *high = range.high;
}

#pragma GCC visibility pop
}
