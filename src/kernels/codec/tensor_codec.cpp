#include "kernels/codec/tensor_codec.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/try.hpp"
#include "formats/float_bits.hpp"
#include "formats/scaled.hpp"
#include "kernels/codec/packing.hpp"
#include "kernels/codec/tensor_codec_runs.hpp"
#include "kernels/move/copy.hpp"

namespace anybit::kernels {
namespace {

using formats::Code16;

// Values per kernel call: few enough to stay in the L1 cache between choosing and encoding. A multiple of 8,
// so that pieces of a row start on a byte for every width.
constexpr std::int64_t kTile = 4096;

constexpr std::size_t to_size(std::int64_t n) { return static_cast<std::size_t>(n); }
// A buffer for n codes of that width, on the stack if they fit a tile.
template <class Body>
void with_codes(int bits, std::size_t n, const Body& body) {
  const auto in_array = [&]<class Code>(Code) {
    if (n > to_size(kTile)) {
      std::vector<Code> codes(n);
      body(codes.data());
    } else {
      std::array<Code, to_size(kTile)> codes;
      body(codes.data());
    }
  };
  bits > 8 ? in_array(Code16{}) : in_array(std::uint8_t{});
}

}  // namespace

Result<TensorCodec> TensorCodec::make(std::string_view format, const formats::Dims& dims,
                                      const TensorOptions& options) {
  TensorCodec result;
  result.descriptor_ = TRY(formats::find(format));
  result.values_ = TRY(formats::complete(*result.descriptor_, options.parameters));
  result.codec_ = TRY(formats::codec_of(*result.descriptor_, result.values_, options.grouping));
  result.packing_ = result.codec_->packing();
  result.grouping_ = TRY(formats::resolve(*result.descriptor_, dims, options.grouping, result.values_));
  result.rounding_ = result.codec_->rounding(options.rounding);
  result.seed_ = options.seed;
  result.count_ = result.grouping_.count();
  result.stride_ = to_size(result.codec_->words(result.grouping_.size()));
  if (!checked_mul<std::int64_t>(result.grouping_.groups(), static_cast<std::int64_t>(result.stride_ * 4)))
    return error_at(Code::limit_exceeded, {}, "the parameters of all groups exceed the address space");
  result.kernel_ = options.plain ? plain_kernel(result.codec_, result.rounding_)
                                 : kernel_for(result.codec_, result.rounding_);
  result.find_flat_layout();
  return result;
}

// Groups are contiguous and in order if at most one axis is divided into blocks, every axis before it into
// single indices, and the axes after it not at all.
void TensorCodec::find_flat_layout() {
  const formats::Dims &dims = grouping_.dims, &box = grouping_.box;
  std::size_t cut = 0;
  while (cut < dims.size() && box[cut] == 1) ++cut;
  std::int64_t inner = 1;
  flat_ = true;
  for (std::size_t d = cut + 1; d < dims.size(); ++d) {
    flat_ = flat_ && box[d] == dims[d];
    inner *= dims[d];
  }
  const bool whole = cut == dims.size();
  block_ = whole ? 1 : box[cut] * inner;
  row_ = whole ? std::max<std::int64_t>(count_, 1) : dims[cut] * inner;
  if (row_ != 0 && row_ % block_ == 0)
    row_ = std::max<std::int64_t>(count_, 1);  // no short block: one long row
  const bool along_one = std::count_if(box.begin(), box.end(), [](std::int64_t one) { return one > 1; }) == 1;
  if (!flat_ && along_one) turned_axis_ = static_cast<int>(cut);
}

std::int64_t TensorCodec::size_of(std::int64_t group) const {
  std::int64_t size = 1;
  for (std::size_t d = grouping_.dims.size(); d-- > 0;) {
    const std::int64_t first = group % grouping_.grid[d] * grouping_.box[d];
    size *= std::min(grouping_.box[d], grouping_.dims[d] - first);
    group /= grouping_.grid[d];
  }
  return size;
}

template <class In, class Out, class Op>
void TensorCodec::apply_flat(bool may_cut, const In* in, Out* out, ThreadPool& pool, const Op& op) const {
  const bool noisy = rounding_ == formats::Rounding::stochastic;
  const auto call = [&](std::int64_t group, std::int64_t groups, std::int64_t size, std::int64_t offset) {
    std::vector<std::uint32_t> noise(noisy ? to_size(groups * size) : 0);
    for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = formats::noise_at(seed_, to_size(offset) + i);
    op(Groups{to_size(size), to_size(groups), stride_}, group, in + offset, noisy ? noise.data() : nullptr,
       out == nullptr ? out : out + offset);
  };
  const std::int64_t groups = grouping_.groups(), in_row = (row_ + block_ - 1) / block_, full = row_ / block_;
  if (may_cut && block_ > kTile) {
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::int64_t offset = group / in_row * row_ + group % in_row * block_;
      pool.run(size_of(group), kTile,
               [&](std::int64_t begin, std::int64_t end) { call(group, 1, end - begin, offset + begin); });
    }
    return;
  }
  pool.run(groups, std::max<std::int64_t>(1, kTile / block_), [&](std::int64_t group, std::int64_t end) {
    while (group < end) {
      const std::int64_t column = group % in_row, offset = group / in_row * row_ + column * block_;
      if (column < full) {
        const std::int64_t together = std::min(end - group, full - column);
        call(group, together, block_, offset);
        group += together;
      } else {
        call(group++, 1, row_ - full * block_, offset);
      }
    }
  });
}

// transpose() of values or codes, by element size.
template <class T>
void turn(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride, std::int64_t rows,
          std::int64_t columns) {
  using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>;  // a float, or a code
  transpose(reinterpret_cast<const Word*>(from), from_stride, reinterpret_cast<Word*>(to), to_stride, rows,
            columns);
}

// Blocks along an axis that is not the last: many adjacent columns are transposed at once, so that each block
// is contiguous.
template <class In, class Out, class Op>
void TensorCodec::apply_turned(const In* in, Out* out, ThreadPool& pool, const Op& op) const {
  constexpr std::int64_t kColumns = 64;
  const auto axis = to_size(turned_axis_);
  const std::int64_t length = grouping_.dims[axis], box = grouping_.box[axis], blocks = grouping_.grid[axis];
  std::int64_t columns = 1;
  for (std::size_t d = axis + 1; d < grouping_.dims.size(); ++d) columns *= grouping_.dims[d];
  const std::int64_t bands = count_ / length / columns * blocks, pieces = (columns + kColumns - 1) / kColumns;
  const std::int64_t per_chunk = std::max<std::int64_t>(1, kTile / (box * kColumns));
  pool.run(bands * pieces, per_chunk, [&](std::int64_t piece, std::int64_t end) {
    std::vector<In> turned(kernel_->filled_up(to_size(box)) * to_size(kColumns));
    std::vector<Out> made(out == nullptr ? 0 : turned.size());
    for (; piece < end; ++piece) {
      const std::int64_t band = piece / pieces, column = piece % pieces * kColumns;
      const std::int64_t first = band % blocks * box, rows = std::min(box, length - first);
      const std::int64_t wide = std::min(kColumns, columns - column);
      const std::int64_t offset = (band / blocks * length + first) * columns + column;
      const auto size = static_cast<std::int64_t>(kernel_->filled_up(to_size(rows)));
      if (size != rows) std::ranges::fill(turned, In{});
      turn(in + offset, columns, turned.data(), size, wide, rows);
      op(Groups{to_size(size), to_size(wide), stride_}, band * columns + column, turned.data(), nullptr,
         out == nullptr ? nullptr : made.data());
      if (out != nullptr) turn(made.data(), size, out + offset, columns, rows, wide);
    }
  });
}

template <class In, class Out, class Op>
void TensorCodec::apply_gathered(const In* in, Out* out, ThreadPool& pool, const Op& op) const {
  const bool noisy = rounding_ == formats::Rounding::stochastic;
  const std::int64_t per_chunk = std::max<std::int64_t>(1, kTile / grouping_.size());
  pool.run(grouping_.groups(), per_chunk, [&](std::int64_t group, std::int64_t end) {
    std::vector<In> gathered(to_size(grouping_.size()));
    std::vector<std::uint32_t> noise(noisy ? gathered.size() : 0);
    std::vector<Out> made(out == nullptr ? 0 : gathered.size());
    for (; group < end; ++group) {
      std::size_t n = 0;
      for_runs(group, [&](std::int64_t offset, std::int64_t length) {
        std::memcpy(gathered.data() + n, in + offset, to_size(length) * sizeof(In));
        for (std::size_t i = 0; noisy && i < to_size(length); ++i) {
          noise[n + i] = formats::noise_at(seed_, to_size(offset) + i);
        }
        n += to_size(length);
      });
      op(Groups{n, 1, stride_}, group, gathered.data(), noisy ? noise.data() : nullptr,
         out == nullptr ? nullptr : made.data());
      if (out == nullptr) continue;
      n = 0;
      for_runs(group, [&](std::int64_t offset, std::int64_t length) {
        std::memcpy(out + offset, made.data() + n, to_size(length) * sizeof(Out));
        n += to_size(length);
      });
    }
  });
}

template <class In, class Out, class Op>
void TensorCodec::apply(bool may_cut, const In* in, Out* out, ThreadPool& pool, const Op& op) const {
  if (count_ == 0) return;
  if (flat_) {
    apply_flat(may_cut && codec_->independent(), in, out, pool, op);
  } else if (turned_axis_ >= 0 && rounding_ != formats::Rounding::stochastic) {
    apply_turned(in, out, pool, op);
  } else {
    apply_gathered(in, out, pool, op);
  }
}

TensorCodec::Parameters TensorCodec::empty_parameters(std::span<const float> values) const {
  Parameters words(to_size(grouping_.groups()) * stride_, 0);
  if (words.empty()) return words;
  const std::span first = std::span(words).first(stride_);
  if (!kernel_->choose_for_tensor(values, first.data())) codec_->choose_for_tensor(values, first);
  // Only formats with words for the whole tensor set any.
  if (std::all_of(first.begin(), first.end(), [](std::uint32_t word) { return word == 0; })) return words;
  for (std::size_t at = stride_; at < words.size(); at += stride_) {
    std::copy_n(words.begin(), stride_, words.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return words;
}

TensorCodec::Parameters TensorCodec::choose_for(std::span<const float> changed, std::span<const float> values,
                                                ThreadPool& pool) const {
  Parameters words = empty_parameters(values);
  if (words.empty()) return words;
  apply(false, changed.data(), static_cast<float*>(nullptr), pool,
        [&](const Groups& shape, std::int64_t group, const float* in, const std::uint32_t*, float*) {
          kernel_->choose(shape, in, words.data() + to_size(group) * stride_);
        });
  codec_->settle(words, static_cast<std::int64_t>(stride_));
  return words;
}

Result<TensorCodec::Parameters> TensorCodec::choose_from_range(formats::Range range) const {
  Parameters words(to_size(grouping_.groups()) * stride_, 0);
  for (std::size_t at = 0; at < words.size(); at += stride_) {
    TRY(codec_->choose_from_range(range, std::span(words).subspan(at, stride_)));
  }
  return words;
}

Result<void> TensorCodec::check(const Parameters& parameters) const {
  const std::size_t expected = to_size(grouping_.groups()) * stride_;
  if (parameters.size() != expected) {
    return invalid_argument(fmt::format("{} words of parameters given", parameters.size()),
                            fmt::format("{} groups of {} words", grouping_.groups(), stride_));
  }
  for (std::size_t at = 0; at < expected; at += stride_) {
    auto result = codec_->check(std::span(parameters).subspan(at, stride_));
    if (!result.ok()) return std::move(result).error().within(fmt::format("group {}", at / stride_));
  }
  return {};
}

void TensorCodec::quantize(std::span<const float> values, const Parameters& parameters, float* out,
                           ThreadPool& pool) const {
  apply(
      true, values.data(), out, pool,
      [&](const Groups& shape, std::int64_t group, const float* in, const std::uint32_t* noise, float* made) {
        kernel_->quantize(shape, in, parameters.data() + to_size(group) * stride_, noise, made);
      });
}

TensorCodec::Parameters TensorCodec::choose_and_quantize(std::span<const float> values, float* out,
                                                         ThreadPool& pool) const {
  if (stride_ == 0 || !codec_->local()) {
    Parameters words = choose(values, pool);
    quantize(values, words, out, pool);
    return words;
  }
  Parameters words = empty_parameters(values);
  apply(
      false, values.data(), out, pool,
      [&](const Groups& shape, std::int64_t group, const float* in, const std::uint32_t* noise, float* made) {
        std::uint32_t* mine = words.data() + to_size(group) * stride_;
        kernel_->choose_and_quantize(shape, in, mine, noise, made);
      });
  return words;
}

void TensorCodec::encode(std::span<const float> values, const Parameters& parameters, Code16* codes,
                         ThreadPool& pool) const {
  apply(true, values.data(), codes, pool,
        [&](const Groups& shape, std::int64_t group, const float* in, const std::uint32_t* noise,
            Code16* made) {
          kernel_->encode(shape, in, parameters.data() + to_size(group) * stride_, noise, made);
        });
}

void TensorCodec::decode(std::span<const Code16> codes, const Parameters& parameters, float* out,
                         ThreadPool& pool) const {
  apply(true, codes.data(), out, pool,
        [&](const Groups& shape, std::int64_t group, const Code16* in, const std::uint32_t*, float* made) {
          kernel_->decode(shape, in, parameters.data() + to_size(group) * stride_, made);
        });
}

TensorCodec TensorCodec::in_bits() const {
  TensorCodec copy = *this;
  copy.packing_ = formats::Packing::bits;
  return copy;
}

std::int64_t TensorCodec::row_length() const {
  return grouping_.dims.empty() ? 1 : grouping_.dims[to_size(grouping_.pack_axis)];
}

std::int64_t TensorCodec::row_bytes() const {
  const std::size_t length = to_size(row_length());
  const bool fives = packing_ == formats::Packing::fives;
  return static_cast<std::int64_t>(fives ? fives_size(length) : packed_size(length, bits()));
}

std::int64_t TensorCodec::packed_bytes() const {
  return count_ == 0 ? 0 : count_ / row_length() * row_bytes();
}

template <class Code>
void TensorCodec::unpack_row(const std::uint8_t* packed, std::size_t n, Code* codes) const {
  if (packing_ == formats::Packing::fives) return unpack_fives(packed, n, codes);
  kernels::unpack(packed, n, bits(), codes);
}
template void TensorCodec::unpack_row(const std::uint8_t*, std::size_t, std::uint8_t*) const;
template void TensorCodec::unpack_row(const std::uint8_t*, std::size_t, Code16*) const;

bool TensorCodec::packs_in_place() const {
  if (packing_ != formats::Packing::bits) return false;
  if (!flat_ || (!grouping_.dims.empty() && to_size(grouping_.pack_axis) + 1 != grouping_.dims.size()))
    return false;
  const std::int64_t row = grouping_.dims.empty() ? 1 : grouping_.dims.back();
  const bool rows_join = row * bits() % 8 == 0 || row == count_;
  const bool groups_join = block_ * bits() % 8 == 0 || block_ == count_;
  return rows_join && groups_join && row_ == std::max<std::int64_t>(count_, 1);
}

// visit(first element, step between elements, packed row) for every row of the packed tensor.
template <class Visit>
void TensorCodec::for_rows(ThreadPool& pool, const Visit& visit) const {
  if (count_ == 0) return;
  const auto axis = to_size(grouping_.pack_axis);
  const std::int64_t length = row_length(), bytes = row_bytes();
  std::int64_t step = 1;
  for (std::size_t d = axis + 1; d < grouping_.dims.size(); ++d) step *= grouping_.dims[d];
  pool.run(count_ / length, std::max<std::int64_t>(1, kTile / length),
           [&](std::int64_t row, std::int64_t end) {
             for (; row < end; ++row)
               visit(row / step * step * length + row % step, step, length, row * bytes);
           });
}

void TensorCodec::pack(const Code16* codes, std::uint8_t* packed, ThreadPool& pool) const {
  for_rows(pool, [&](std::int64_t first, std::int64_t step, std::int64_t length, std::int64_t byte) {
    std::vector<Code16> row(to_size(length));
    for (std::int64_t i = 0; i < length; ++i) row[to_size(i)] = codes[first + i * step];
    if (packing_ == formats::Packing::fives) return pack_fives(row.data(), row.size(), packed + byte);
    kernels::pack(row.data(), row.size(), bits(), packed + byte);
  });
}

void TensorCodec::unpack(const std::uint8_t* packed, Code16* codes, ThreadPool& pool) const {
  for_rows(pool, [&](std::int64_t first, std::int64_t step, std::int64_t length, std::int64_t byte) {
    std::vector<Code16> row(to_size(length));
    unpack_row(packed + byte, row.size(), row.data());
    for (std::int64_t i = 0; i < length; ++i) codes[first + i * step] = row[to_size(i)];
  });
}

void TensorCodec::encode_packed(std::span<const float> values, const Parameters& parameters,
                                std::uint8_t* packed, ThreadPool& pool) const {
  if (!packs_in_place()) {
    std::vector<Code16> codes(values.size());
    encode(values, parameters, codes.data(), pool);
    pack(codes.data(), packed, pool);
    return;
  }
  const float* base = values.data();
  apply(true, base, static_cast<float*>(nullptr), pool,
        [&](const Groups& shape, std::int64_t group, const float* in, const std::uint32_t* noise, float*) {
          const std::uint32_t* words = parameters.data() + to_size(group) * stride_;
          std::uint8_t* out = packed + (in - base) * bits() / 8;
          encode_piece(shape, out, [&](CodesOut codes) { kernel_->encode(shape, in, words, noise, codes); });
        });
}

TensorCodec::Parameters TensorCodec::choose_and_pack(std::span<const float> values, std::uint8_t* packed,
                                                     ThreadPool& pool) const {
  if (stride_ == 0 || !codec_->local() || !packs_in_place()) {
    Parameters words = choose(values, pool);
    encode_packed(values, words, packed, pool);
    return words;
  }
  Parameters words = empty_parameters(values);
  const float* base = values.data();
  apply(false, base, static_cast<float*>(nullptr), pool,
        [&](const Groups& shape, std::int64_t group, const float* in, const std::uint32_t* noise, float*) {
          std::uint32_t* mine = words.data() + to_size(group) * stride_;
          encode_piece(shape, packed + (in - base) * bits() / 8,
                       [&](CodesOut codes) { kernel_->choose_and_encode(shape, in, mine, noise, codes); });
        });
  return words;
}

template <class Encode>
void TensorCodec::encode_piece(const Groups& shape, std::uint8_t* out, const Encode& encode) const {
  if (bits() == 8) {
    encode(out);
    return;
  }
  with_codes(bits(), shape.count(), [&](auto* codes) {
    encode(codes);
    kernels::pack(codes, shape.count(), bits(), out);
  });
}

void TensorCodec::decode_packed(const std::uint8_t* packed, const Parameters& parameters, float* out,
                                ThreadPool& pool) const {
  if (!packs_in_place()) {
    std::vector<Code16> codes(to_size(count_));
    unpack(packed, codes.data(), pool);
    decode(codes, parameters, out, pool);
    return;
  }
  // The output stands in for the input: only its position is used.
  apply(true, out, out, pool,
        [&](const Groups& shape, std::int64_t group, const float*, const std::uint32_t*, float* made) {
          const std::uint8_t* in = packed + (made - out) * bits() / 8;
          decode_piece(shape, in, parameters.data() + to_size(group) * stride_, made);
        });
}

void TensorCodec::decode_piece(const Groups& shape, const std::uint8_t* in, const std::uint32_t* words,
                               float* out) const {
  if (bits() == 8) {
    kernel_->decode(shape, in, words, out);
    return;
  }
  with_codes(bits(), shape.count(), [&](auto* codes) {
    kernels::unpack(in, shape.count(), bits(), codes);
    kernel_->decode(shape, codes, words, out);
  });
}

double TensorCodec::bits_per_value() const {
  double per_group = 0, once = 0;
  for (const formats::Field& field : codec_->fields(grouping_.size())) {
    (field.per_tensor ? once : per_group) += static_cast<double>(field.count) * field.stored_bits;
  }
  const double each = codec_->packed_bits();
  if (count_ == 0) return each;
  return each + (per_group * static_cast<double>(grouping_.groups()) + once) / static_cast<double>(count_);
}

}  // namespace anybit::kernels
