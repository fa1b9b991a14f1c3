// How fields of a group's words lie in a file: which type, and how a word becomes one and comes back.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "anybit/formats.hpp"
#include "kernels/tensor_codec.hpp"

namespace anybit::kernels {

// "float32", …; whole numbers take the smallest signed type that holds stored_bits with either sign.
std::string_view stored_type(const formats::Field& field);

// Every field that is stored, for words that TensorCodec::check() has passed.
std::vector<StoredField> store(const TensorCodec& codec, const TensorCodec::Parameters& parameters);
// Words of fields that are not stored are 0. Errors: a field is missing or unknown, has another type or other
// dimensions. The words' meaning is for TensorCodec::check().
Result<TensorCodec::Parameters> restore(const TensorCodec& codec, std::span<const StoredField> fields);

}  // namespace anybit::kernels
