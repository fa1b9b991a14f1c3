#include "tflite/constants.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/try.hpp"

namespace anybit::tflite {
namespace {

using graph::ElementType;

// One byte per element, for types of 4 bits; the first element lies in the low bits.
std::vector<std::byte> unpacked_nibbles(const Bytes& data, std::size_t count) {
  std::vector<std::byte> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte pair = data.data()[i / 2];
    result[i] = i % 2 == 0 ? pair & std::byte{15} : pair >> 4;
  }
  return result;
}

std::vector<std::byte> packed_nibbles(std::span<const std::byte> elements) {
  std::vector<std::byte> result((elements.size() + 1) / 2);
  for (std::size_t i = 0; i < elements.size(); ++i)
    result[i / 2] |= i % 2 == 0 ? elements[i] : elements[i] << 4;
  return result;
}

// Copies elements of `size` bytes; the source has strides in elements, in the order of the result.
void copy_strided(const std::byte* from, std::byte* to, std::size_t size, std::span<const std::int64_t> dims,
                  std::span<const std::int64_t> strides) {
  if (dims.empty()) {
    std::memcpy(to, from, size);
    return;
  }
  std::vector<std::int64_t> at(dims.size(), 0);
  std::int64_t source = 0;
  for (std::byte* end = to;;) {
    std::memcpy(end, from + static_cast<std::size_t>(source) * size, size);
    end += size;
    std::size_t axis = dims.size();
    for (; axis > 0; --axis) {  // the next index, the last axis first
      const std::size_t i = axis - 1;
      source += strides[i];
      if (++at[i] < dims[i]) break;
      source -= strides[i] * dims[i];
      at[i] = 0;
    }
    if (axis == 0) return;
  }
}

// The segments or indices of one level of a sparse tensor.
class IndexVector {
 public:
  IndexVector(wire::SparseIndexVector kind, const void* vector) : kind_(kind), vector_(vector) {}
  std::size_t size() const {
    return with([](const auto* values) -> std::int64_t { return values->size(); });
  }
  std::int64_t at(std::size_t i) const {
    return with([&](const auto* values) { return std::int64_t{values->Get(static_cast<std::uint32_t>(i))}; });
  }

 private:
  template <class Use>
  std::int64_t with(const Use& use) const {
    if (!vector_) return 0;
    if (kind_ == wire::SparseIndexVector::Int32Vector)
      return used(static_cast<const wire::Int32Vector*>(vector_), use);
    if (kind_ == wire::SparseIndexVector::Uint16Vector)
      return used(static_cast<const wire::Uint16Vector*>(vector_), use);
    if (kind_ == wire::SparseIndexVector::Uint8Vector)
      return used(static_cast<const wire::Uint8Vector*>(vector_), use);
    return 0;
  }
  template <class Table, class Use>
  static std::int64_t used(const Table* table, const Use& use) {
    return table->values() ? use(table->values()) : 0;
  }

  wire::SparseIndexVector kind_;
  const void* vector_;
};

// Expands a tensor in the format of TFLite: levels in `traversal_order`, each dense or compressed, of the
// dimensions and of the blocks that some dimensions are cut into.
class SparseReader {
 public:
  SparseReader(const TensorInfo& info, std::vector<std::byte>& dense, std::size_t element)
      : info_(info), dense_(dense), element_(element), sizes_(info.dims) {}

  Result<void> run() {
    const wire::SparsityParameters& sparsity = *info_.sparsity;
    const std::size_t blocks = sparsity.block_map() ? sparsity.block_map()->size() : 0;
    if (blocks > info_.dims.size()) return wrong("it has more blocks than dimensions");
    levels_ = info_.dims.size() + blocks;
    const bool complete = sparsity.traversal_order() && sparsity.traversal_order()->size() == levels_ &&
                          sparsity.dim_metadata() && sparsity.dim_metadata()->size() == levels_;
    if (!complete) return wrong("its levels are not those of its dimensions and blocks");
    TRY(read_order(sparsity, blocks));
    index_.assign(levels_, 0);
    return level(0, 0);
  }

 private:
  static Error wrong(std::string what) {
    return invalid_model({}, "its sparsity is damaged: " + std::move(what));
  }

  Result<void> read_order(const wire::SparsityParameters& sparsity, std::size_t blocks) {
    block_of_.assign(info_.dims.size(), -1);
    block_size_.assign(info_.dims.size(), 1);
    for (std::uint32_t b = 0; b < blocks; ++b) {
      const std::int64_t dim = sparsity.block_map()->Get(b);
      if (dim < 0 || dim >= info_.rank()) return wrong("a block lies along no dimension");
      block_of_[static_cast<std::size_t>(dim)] = static_cast<std::int64_t>(info_.dims.size() + b);
    }
    std::vector<bool> seen(levels_, false);
    for (std::uint32_t l = 0; l < levels_; ++l) {
      const std::int64_t dim = sparsity.traversal_order()->Get(l);
      if (dim < 0 || dim >= static_cast<std::int64_t>(levels_) || seen[static_cast<std::size_t>(dim)])
        return wrong("its traversal order is no permutation");
      seen[static_cast<std::size_t>(dim)] = true;
      order_.push_back(static_cast<std::size_t>(dim));
      if (sparsity.dim_metadata()->Get(l)->dense_size() < 0) return wrong("a level has a negative size");
      for (std::size_t d = 0; d < block_of_.size(); ++d) {
        if (block_of_[d] == dim) block_size_[d] = sparsity.dim_metadata()->Get(l)->dense_size();
      }
    }
    return {};
  }

  // Level l, of which `parent` is the position in the level before.
  Result<void> level(std::size_t l, std::size_t parent) {
    if (l == levels_) return leaf(parent);
    const wire::DimensionMetadata& here = *info_.sparsity->dim_metadata()->Get(static_cast<std::uint32_t>(l));
    if (here.format() == wire::DimensionType::DENSE) {
      const auto size = static_cast<std::size_t>(here.dense_size());
      for (std::size_t i = 0; i < size; ++i) {
        index_[order_[l]] = static_cast<std::int64_t>(i);
        TRY(level(l + 1, parent * size + i));
      }
      return {};
    }
    const IndexVector segments(here.array_segments_type(), here.array_segments());
    const IndexVector indices(here.array_indices_type(), here.array_indices());
    if (parent + 1 >= segments.size()) return wrong("a level has too few segments");
    const std::int64_t first = segments.at(parent), last = segments.at(parent + 1);
    if (first < 0 || last < first || last > static_cast<std::int64_t>(indices.size()))
      return wrong("a segment lies outside of its indices");
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
      index_[order_[l]] = indices.at(i);
      TRY(level(l + 1, i));
    }
    return {};
  }

  Result<void> leaf(std::size_t position) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      const std::int64_t block = block_of_[d] < 0 ? 0 : index_[static_cast<std::size_t>(block_of_[d])];
      const auto blocked = checked_mul(index_[d], block_size_[d]);
      const std::int64_t at = blocked ? *blocked + block : -1;
      if (at < 0 || at >= sizes_[d]) return wrong("an element lies outside of the tensor");
      offset = offset * sizes_[d] + at;
    }
    if ((position + 1) * element_ > info_.data.size()) return wrong("it has more elements than values");
    std::memcpy(dense_.data() + static_cast<std::size_t>(offset) * element_,
                info_.data.data() + position * element_, element_);
    return {};
  }

  const TensorInfo& info_;
  std::vector<std::byte>& dense_;
  std::size_t element_, levels_ = 0;
  const std::vector<std::int64_t>& sizes_;
  std::vector<std::size_t> order_;                   // the dimension or block of each level
  std::vector<std::int64_t> block_of_, block_size_;  // of each dimension; -1: not cut into blocks
  std::vector<std::int64_t> index_;                  // of each dimension and block
};

float widened(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16;
  const std::uint32_t exponent = (half >> 10) & 31u, mantissa = half & 0x3FFu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | (mantissa << 13));
  if (exponent == 0) {  // mantissa · 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

}  // namespace

Result<Bytes> dense_data(File& file, const TensorInfo& info) {
  const graph::ElementTypeInfo* type = graph::find(info.type);
  if (!type || type->bits == 0) {
    return error_at(Code::unsupported, {},
                    fmt::format("a constant of {} is not supported", graph::name_of(info.type)));
  }
  if (!info.sparsity) return info.data;
  const auto count = element_count(info.dims);
  if (!count || type->bits % 8 != 0) {
    return error_at(Code::unsupported, {},
                    fmt::format("a sparse constant of {} is not supported", type->name));
  }
  const auto size = checked_mul<std::int64_t>(*count, type->bits / 8);
  if (!size) return error_at(Code::limit_exceeded, {}, "its size overflows");
  TRY(file.take_bytes(*size));
  std::vector<std::byte> dense(static_cast<std::size_t>(*size), std::byte{0});
  TRY(SparseReader(info, dense, static_cast<std::size_t>(type->bits / 8)).run());
  return Bytes::own(std::move(dense));
}

Result<std::vector<std::int64_t>> integers_of(File& file, const TensorInfo& info) {
  const Bytes data = TRY(dense_data(file, info));
  const auto count = static_cast<std::size_t>(element_count(info.dims).value_or(0));
  TRY(file.take_bytes(static_cast<std::int64_t>(count * 8)));
  std::vector<std::int64_t> result(count);
  const auto read = [&]<class T>(T) {
    for (std::size_t i = 0; i < count; ++i) result[i] = static_cast<std::int64_t>(data.at<T>(i));
  };
  switch (info.type) {
    case ElementType::int64:
      read(std::int64_t{});
      return result;
    case ElementType::int32:
      read(std::int32_t{});
      return result;
    case ElementType::int16:
      read(std::int16_t{});
      return result;
    case ElementType::int8:
      read(std::int8_t{});
      return result;
    case ElementType::uint8:
      read(std::uint8_t{});
      return result;
    default:
      return invalid_model({}, fmt::format("it has type {}", graph::name_of(info.type)),
                           "integers belong here");
  }
}

Result<Bytes> float32_of_float16(File& file, const Bytes& halves) {
  const std::size_t count = halves.size() / 2;
  TRY(file.take_bytes(static_cast<std::int64_t>(count * 4)));
  std::vector<float> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = widened(halves.at<std::uint16_t>(i));
  return Bytes::own(std::move(result));
}

Result<Bytes> permuted(File& file, const Bytes& data, ElementType type, std::span<const std::int64_t> dims,
                       std::span<const std::int64_t> order) {
  const int bits = graph::find(type)->bits;
  const auto count = static_cast<std::size_t>(element_count(dims).value_or(0));
  const std::size_t size = bits == 4 ? 1 : static_cast<std::size_t>(bits) / 8;
  TRY(file.take_bytes(static_cast<std::int64_t>(count * size)));
  if (count == 0) return data;
  std::vector<std::int64_t> strides(dims.size(), 1), to_dims, to_strides;
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  for (const std::int64_t axis : order) {
    to_dims.push_back(dims[static_cast<std::size_t>(axis)]);
    to_strides.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  std::vector<std::byte> source;
  if (bits == 4) source = unpacked_nibbles(data, count);
  std::vector<std::byte> result(count * size);
  copy_strided(bits == 4 ? source.data() : data.data(), result.data(), size, to_dims, to_strides);
  return Bytes::own(bits == 4 ? packed_nibbles(result) : std::move(result));
}

}  // namespace anybit::tflite
