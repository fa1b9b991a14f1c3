#include "kernels/codec/stored_fields.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "base/try.hpp"
#include "formats/float_bits.hpp"
#include "formats/minifloat.hpp"

namespace anybit::kernels {
namespace {

using formats::Field;
using Store = Field::Store;

std::size_t to_size(std::int64_t n) { return static_cast<std::size_t>(n); }

// Bytes of a field per group.
std::size_t group_bytes(const Field& field) {
  const auto count = to_size(field.count);
  if (field.store == Store::bits) return (count + 7) / 8;
  const std::string_view type = stored_type(field);
  const std::size_t width = type.ends_with("32") ? 4 : type.ends_with("16") ? 2 : 1;
  return count * width;
}

template <class Number>
void put(std::byte* out, Number number) {
  std::memcpy(out, &number, sizeof number);
}
template <class Number>
Number get(const std::byte* in) {
  Number number;
  std::memcpy(&number, in, sizeof number);
  return number;
}

void put_word(const Field& field, std::uint32_t word, std::byte* out) {
  switch (field.store) {
    case Store::float32:
      return put(out, word);
    case Store::float16:
      return put(out, formats::kFloat16.encode(formats::float_of(word), true, Rounding::half_even, 0));
    case Store::bfloat16:
      return put(out, static_cast<std::uint16_t>(word >> 16));
    case Store::int32: {
      const std::string_view type = stored_type(field);
      if (type == "int8") return put(out, static_cast<std::int8_t>(word));
      if (type == "int16") return put(out, static_cast<std::int16_t>(word));
      return put(out, word);
    }
    case Store::uint8:
      return put(out, static_cast<std::uint8_t>(word + static_cast<std::uint32_t>(field.bias)));
    case Store::bits:
      break;
  }
}

std::uint32_t get_word(const Field& field, const std::byte* in) {
  switch (field.store) {
    case Store::float32:
      return get<std::uint32_t>(in);
    case Store::float16:
      return formats::bits_of(formats::kFloat16.decode(get<std::uint16_t>(in)));
    case Store::bfloat16:
      return static_cast<std::uint32_t>(get<std::uint16_t>(in)) << 16;
    case Store::int32: {
      const std::string_view type = stored_type(field);
      if (type == "int8") return static_cast<std::uint32_t>(std::int32_t{get<std::int8_t>(in)});
      if (type == "int16") return static_cast<std::uint32_t>(std::int32_t{get<std::int16_t>(in)});
      return get<std::uint32_t>(in);
    }
    case Store::uint8:
      return static_cast<std::uint32_t>(get<std::uint8_t>(in) - field.bias);
    case Store::bits:
      break;
  }
  return 0;
}

// Writes a group's part of a field. Bits are packed like codes: the first is the lowest.
void put_group(const Field& field, const std::uint32_t* words, std::byte* out) {
  if (field.store == Store::bits) {
    for (std::size_t i = 0; i < group_bytes(field); ++i) {
      out[i] = static_cast<std::byte>(words[i / 4] >> (8 * (i % 4)));
    }
    return;
  }
  const std::size_t width = group_bytes(field) / to_size(field.count);
  for (std::size_t i = 0; i < to_size(field.count); ++i) put_word(field, words[i], out + i * width);
}

void get_group(const Field& field, const std::byte* in, std::uint32_t* words) {
  if (field.store == Store::bits) {
    for (std::size_t i = 0; i < group_bytes(field); ++i) {
      words[i / 4] |= std::to_integer<std::uint32_t>(in[i]) << (8 * (i % 4));
    }
    return;
  }
  const std::size_t width = group_bytes(field) / to_size(field.count);
  for (std::size_t i = 0; i < to_size(field.count); ++i) words[i] = get_word(field, in + i * width);
}

formats::Dims stored_dims(const TensorCodec& codec, const Field& field) {
  formats::Dims dims = field.per_tensor ? formats::Dims{} : codec.grouping().grid;
  const auto own =
      static_cast<std::int64_t>(field.store == Store::bits ? group_bytes(field) : to_size(field.count));
  if (own != 1 || field.store == Store::bits) dims.push_back(own);
  return dims;
}

std::size_t stored_groups(const TensorCodec& codec, const Field& field) {
  return field.per_tensor ? 1 : to_size(codec.grouping().groups());
}

std::string_view array_type(const Field& field) {
  return field.store == Store::bits ? "uint8" : stored_type(field);
}

Result<const StoredField*> find(const TensorCodec& codec, const Field& field,
                                std::span<const StoredField> fields) {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const StoredField& f) { return f.name == field.name; });
  const formats::Dims dims = stored_dims(codec, field);
  const std::string wanted = fmt::format("'{}' of type {} and dimensions [{}]", field.name, array_type(field),
                                         fmt::join(dims, ", "));
  if (found == fields.end()) {
    return invalid_argument(
        fmt::format("format {}: field '{}' is missing", codec.descriptor().name, field.name),
        "it needs " + wanted);
  }
  const std::size_t bytes = stored_groups(codec, field) * group_bytes(field);
  if (found->type != array_type(field) || found->dims != dims || found->bytes.size() != bytes) {
    return invalid_argument(fmt::format("format {}: field '{}' has type {}, dimensions [{}] and {} bytes",
                                        codec.descriptor().name, field.name, shown(found->type),
                                        fmt::join(found->dims, ", "), found->bytes.size()),
                            "it needs " + wanted);
  }
  return &*found;
}

}  // namespace

std::string_view stored_type(const Field& field) {
  switch (field.store) {
    case Store::float32:
      return "float32";
    case Store::float16:
      return "float16";
    case Store::bfloat16:
      return "bfloat16";
    case Store::int32:
      return field.stored_bits < 8 ? "int8" : field.stored_bits < 16 ? "int16" : "int32";
    case Store::uint8:
      return "uint8";
    case Store::bits:
      break;
  }
  return "bits";
}

std::vector<StoredField> store(const TensorCodec& codec, const TensorCodec::Parameters& parameters) {
  std::vector<StoredField> result;
  std::size_t first = 0;  // word of the field within a group
  for (const Field& field : codec.codec().fields(codec.grouping().size())) {
    if (field.stored_bits > 0) {
      const std::size_t bytes = group_bytes(field), groups = stored_groups(codec, field);
      StoredField made{std::string(field.name), std::string(array_type(field)), stored_dims(codec, field),
                       std::vector<std::byte>(bytes * groups)};
      const bool any = !parameters.empty();  // a tensor without values has no groups to take words from
      for (std::size_t g = 0; any && g < groups; ++g) {
        put_group(field, parameters.data() + g * codec.stride() + first, made.bytes.data() + g * bytes);
      }
      result.push_back(std::move(made));
    }
    first += to_size(field.words());
  }
  return result;
}

Result<TensorCodec::Parameters> restore(const TensorCodec& codec, std::span<const StoredField> fields) {
  // All fields are checked before memory is allocated: dimensions are not trusted.
  const std::vector<Field> wanted = codec.codec().fields(codec.grouping().size());
  std::vector<const StoredField*> given;
  std::size_t stored = 0;
  for (const Field& field : wanted) {
    given.push_back(field.stored_bits > 0 ? TRY(find(codec, field, fields)) : nullptr);
    if (field.stored_bits > 0) ++stored;
  }
  if (fields.size() != stored) {
    return invalid_argument(
        fmt::format("format {}: {} fields are given", codec.descriptor().name, fields.size()),
        fmt::format("it has {}, each once", stored));
  }
  const std::size_t groups = to_size(codec.grouping().groups());
  TensorCodec::Parameters parameters(groups * codec.stride(), 0);
  std::size_t first = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::size_t step = wanted[i].per_tensor ? 0 : group_bytes(wanted[i]);
    for (std::size_t g = 0; given[i] != nullptr && g < groups; ++g) {
      get_group(wanted[i], given[i]->bytes.data() + g * step, parameters.data() + g * codec.stride() + first);
    }
    first += to_size(wanted[i].words());
  }
  return parameters;
}

}  // namespace anybit::kernels
