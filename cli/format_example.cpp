#include "format_example.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "anybit/npy.hpp"

namespace anybit::cli {
namespace {

constexpr int kFewBits = 4;

template <class Number>
std::vector<double> numbers_as(const std::vector<std::byte>& bytes) {
  std::vector<double> numbers;
  for (std::size_t at = 0; at + sizeof(Number) <= bytes.size(); at += sizeof(Number)) {
    Number number;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    numbers.push_back(static_cast<double>(number));
  }
  return numbers;
}

// The upper half of a float32.
std::vector<double> bfloat16_numbers(const std::vector<std::byte>& bytes) {
  std::vector<double> numbers;
  for (const double bits : numbers_as<std::uint16_t>(bytes)) {
    numbers.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
  }
  return numbers;
}

// Decodes every bit pattern with the example's parameters, if they are one group and hold no per-value field.
Result<std::vector<float>> values_of_all_codes(const FormatInfo& format, const ParameterValues& parameters,
                                               const GroupParameters& shared) {
  for (const FormatField& field : format.fields) {
    if (field.type == "bits") return std::vector<float>{};  // differs from value to value
  }
  const std::int64_t count = std::int64_t{1} << format.bits;
  auto tensor = TensorFormat::make(format.name, {count}, {.parameters = parameters});
  if (!tensor.ok()) return std::move(tensor).error();
  if (tensor->groups() != 1) return std::vector<float>{};
  std::vector<std::uint16_t> codes;
  for (std::int64_t code = 0; code < count; ++code) codes.push_back(static_cast<std::uint16_t>(code));
  std::vector<float> values(codes.size());
  auto done = tensor->decode(codes, shared, values);
  if (!done.ok()) return std::move(done).error();
  return values;
}

}  // namespace

Result<FormatExample> example_of(const FormatInfo& format, const ParameterValues& parameters) {
  FormatExample example{.numbers = {0.0f, 0.3f, -0.75f, 1.1f, 1.6f, -2.4f, 3.3f, 6.0f}};
  const auto count = static_cast<std::int64_t>(example.numbers.size());
  auto tensor = TensorFormat::make(format.name, {count}, {.parameters = parameters});
  if (!tensor.ok()) return std::move(tensor).error();
  auto shared = tensor->choose(example.numbers);
  if (!shared.ok()) return std::move(shared).error();
  example.codes.resize(example.numbers.size());
  example.values.resize(example.numbers.size());
  auto encoded = tensor->encode(example.numbers, *shared, example.codes);
  if (!encoded.ok()) return std::move(encoded).error();
  auto quantized = tensor->quantize(example.numbers, *shared, example.values);
  if (!quantized.ok()) return std::move(quantized).error();
  // Some policies only quantize and have nothing to store.
  if (auto stored = tensor->store(*shared); stored.ok()) example.shared = *std::move(stored);
  if (format.bits <= kFewBits) {
    auto all = values_of_all_codes(format, parameters, *shared);
    if (!all.ok()) return std::move(all).error();
    example.all_values = *std::move(all);
  }
  return example;
}

std::string code_text(std::uint16_t code, int bits) {
  return bits <= 8 ? fmt::format("{:0{}b}", code, bits) : fmt::format("0x{:0{}x}", code, (bits + 3) / 4);
}

std::vector<double> numbers_of(const StoredField& field) {
  if (field.type == "float32") return numbers_as<float>(field.bytes);
  if (field.type == "int8") return numbers_as<std::int8_t>(field.bytes);
  if (field.type == "int16") return numbers_as<std::int16_t>(field.bytes);
  if (field.type == "int32") return numbers_as<std::int32_t>(field.bytes);
  if (field.type == "uint8") return numbers_as<std::uint8_t>(field.bytes);
  if (field.type == "bfloat16") return bfloat16_numbers(field.bytes);
  auto half = Array::from_bytes("float16", field.bytes, {static_cast<std::int64_t>(field.bytes.size() / 2)});
  const auto floats = half.ok() ? half->to_floats() : Result<std::vector<float>>(half.error());
  return floats.ok() ? std::vector<double>(floats->begin(), floats->end()) : std::vector<double>{};
}

}  // namespace anybit::cli
