// How the fields of a group's words are stored in a file: their type, and the conversion between words and
// elements.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "anybit/formats.hpp"
#include "kernels/codec/tensor_codec.hpp"

namespace anybit::kernels {

// "float32", …; integers use the smallest signed type that holds stored_bits of either sign.
std::string_view stored_type(const formats::Field& field);

// Every stored field, for words that passed TensorCodec::check().
std::vector<StoredField> store(const TensorCodec& codec, const TensorCodec::Parameters& parameters);
// Words of fields that are not stored are 0. Errors: a field is missing or unknown, or has the wrong type or
// dimensions. Values are checked by TensorCodec::check().
Result<TensorCodec::Parameters> restore(const TensorCodec& codec, std::span<const StoredField> fields);

}  // namespace anybit::kernels
