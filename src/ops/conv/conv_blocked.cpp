#include "ops/conv/conv_blocked.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>

#include "base/checked.hpp"
#include "kernels/reduce/reduce.hpp"
#include "ops/conv/window.hpp"
#include "ops/finish.hpp"
#include "ops/layout.hpp"

namespace anybit::ops {
namespace {

using kernels::ConvKind;
using kernels::ConvSizes;

constexpr double kPieceMacs = 1e6;       // about 25 µs: worth a task of its own
constexpr double kMostPieces = 16;       // per image
constexpr std::int64_t kBatchAlone = 8;  // batches of this size are not split within an image
constexpr std::int64_t kFewChannels = 3;
constexpr std::size_t kScratchAlignment = 64;

std::int64_t padded(std::int64_t channels) { return (channels + 7) / 8 * 8; }

std::optional<ConvKind> kind_of(const ConvSizes& sizes) {
  if (sizes.groups == 1) return sizes.in_channels <= kFewChannels ? ConvKind::few : ConvKind::blocked;
  if (sizes.in_per_group() == 1 && sizes.out_per_group() == 1) return ConvKind::depthwise;
  if (sizes.in_per_group() % 8 == 0 && sizes.out_per_group() % 8 == 0) return ConvKind::blocked;
  return std::nullopt;
}

// Sizes as the kernels use them: channels padded to 8.
ConvSizes padded_sizes(ConvKind kind, ConvSizes sizes) {
  sizes.out_channels = padded(sizes.out_channels);
  if (kind != ConvKind::few) sizes.in_channels = padded(sizes.in_channels);
  if (kind == ConvKind::depthwise) sizes.groups = sizes.in_channels;
  return sizes;
}

// Channels per piece: the work limits the number of pieces, and a piece holds full passes of the kernel.
std::int64_t channels_of_piece(ConvKind kind, const ConvSizes& sizes, std::int64_t wanted) {
  std::int64_t unit = sizes.out_channels >= 64 ? 32 : 16;
  if (kind == ConvKind::depthwise) unit = 8;
  if (kind == ConvKind::blocked && sizes.groups > 1) unit = sizes.out_per_group();
  const std::int64_t channels = kernels::ceil_quotient(sizes.out_channels, wanted);
  return std::min(sizes.out_channels, kernels::ceil_quotient(channels, unit) * unit);
}

Result<Block> take(Memory& memory, std::int64_t floats) {
  const auto bytes = checked_mul<std::int64_t>(floats, sizeof(float));
  if (!bytes) return wrong("the weights are too large");
  return memory.take(*bytes);
}

Result<Block> padded_bias(Memory& memory, const Array& bias) {
  Block block = TRY(take(memory, padded(bias.count())));
  auto* numbers = reinterpret_cast<float*>(block.data());
  std::fill_n(numbers, padded(bias.count()), 0.0f);
  std::ranges::copy(bias.elements<float>(), numbers);
  return block;
}

}  // namespace

Result<std::unique_ptr<BlockedConv>> BlockedConv::make(const Attributes& node, Memory& memory, const Array& w,
                                                       const Array* bias, bool has_bias, bool has_sum,
                                                       const kernels::Activation& activation) {
  std::unique_ptr<BlockedConv> conv;
  const auto known = weight_sizes(node, w.dims());
  if (!kernels::DnnlConv::available() || !known) return conv;
  const ConvSizes& sizes = *known;
  if (bias && (bias->type() != ElementType::float32 || bias->count() != sizes.out_channels)) return conv;
  const auto kind = kind_of(sizes);
  if (!kind) return conv;
  conv.reset(new BlockedConv());
  conv->kind_ = *kind;
  conv->has_bias_ = has_bias;
  conv->has_sum_ = has_sum;
  conv->activation_ = activation;
  conv->weights_ = TRY(take(memory, kernels::conv_weight_count(*kind, sizes)));
  kernels::order_conv_weights(*kind, sizes, w.data<float>(), reinterpret_cast<float*>(conv->weights_.data()));
  if (bias) conv->bias_ = TRY(padded_bias(memory, *bias));
  return conv;
}

ConvSizes BlockedConv::piece_sizes(const ConvSizes& sizes, std::int64_t images, std::int64_t channels) const {
  ConvSizes part = sizes;
  part.batch = images;
  part.out_channels = channels;
  if (sizes.groups > 1) {
    part.groups = channels / sizes.out_per_group();
    part.in_channels = part.groups * sizes.in_per_group();
  }
  return part;
}

kernels::DnnlPiece BlockedConv::piece(const ConvSizes& sizes) const {
  return {.kind = kind_, .sizes = sizes, .bias = has_bias_, .sum = has_sum_, .activation = activation_};
}

BlockedConv::Pieces BlockedConv::cut(const ConvSizes& sizes) const {
  Pieces pieces{.most = nullptr, .last = nullptr};
  const double work = static_cast<double>(sizes.out_channels) *
                      static_cast<double>(output_size(sizes.window)) * static_cast<double>(sizes.depth());
  pieces.channels = sizes.out_channels;
  if (work <= kPieceMacs) {
    pieces.images = std::clamp<std::int64_t>(static_cast<std::int64_t>(kPieceMacs / work), 1, sizes.batch);
  } else if (sizes.batch < kBatchAlone) {
    const auto wanted = static_cast<std::int64_t>(std::min(work / kPieceMacs, kMostPieces));
    pieces.channels = channels_of_piece(kind_, sizes, wanted);
  }
  pieces.most = kernels::DnnlConv::make(piece(piece_sizes(sizes, pieces.images, pieces.channels)));
  const std::int64_t images = sizes.batch % pieces.images, channels = sizes.out_channels % pieces.channels;
  pieces.last = pieces.most;
  if (images != 0 || channels != 0) {
    pieces.last = kernels::DnnlConv::make(piece(piece_sizes(sizes, images != 0 ? images : pieces.images,
                                                            channels != 0 ? channels : pieces.channels)));
  }
  if (!pieces.last) pieces.most = nullptr;
  return pieces;
}

std::shared_ptr<const BlockedConv::Pieces> BlockedConv::pieces(const ConvSizes& sizes) const {
  const Case now{sizes.batch, sizes.window};
  if (auto known = known_.find(now)) return known;
  return known_.keep(now, cut(sizes));
}

void BlockedConv::convolve(const Piece& piece, std::span<float> y) const {
  kernels::DnnlPiece bare = this->piece(piece.sizes);
  bare.sum = false;
  bare.activation = {};
  const auto kernel = kernels::DnnlConv::make(bare);
  if (!kernel) throw std::bad_alloc();  // supported, because a superset is
  std::vector<std::byte> scratch(kernel->scratch_bytes() + kScratchAlignment);
  void* place = scratch.data();
  std::size_t room = scratch.size();
  std::align(kScratchAlignment, kernel->scratch_bytes(), place, room);
  kernel->run(piece.x, piece.weights, piece.bias, y.data(), static_cast<std::byte*>(place));
}

// oneDNN's activations turn NaN into numbers. If one of their inputs was NaN, the piece is computed again,
// step by step.
void BlockedConv::run_piece(const Piece& piece) const {
  const std::span<float> y = piece.y;
  const bool activated = activation_.kind != kernels::Activation::Kind::none;
  // The addend must be finite: the kernel overwrites it.
  const auto sum_is_finite = [&] {
    return std::isfinite(kernels::row_sum(kernels::Summand::magnitude, y.data(), y.size()));
  };
  if (!activated || !has_sum_ || sum_is_finite()) {
    if (piece.kernel->run(piece.x, piece.weights, piece.bias, y.data(), piece.scratch)) return;
    std::vector<float> alone(has_sum_ ? y.size() : 0);
    convolve(piece, has_sum_ ? std::span(alone) : y);
    if (!has_sum_) return activate(activation_, y);
    for (std::size_t i = 0; i < alone.size(); ++i) {
      if (std::isnan(alone[i])) y[i] = alone[i];
    }
    return;
  }
  const std::vector<float> added(y.begin(), y.end());
  convolve(piece, y);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += added[i];
  activate(activation_, y);
}

void BlockedConv::run_pieces(Frame& frame, const Pieces& pieces, const ConvSizes& sizes, const float* x,
                             const float* bias, float* y, std::span<std::byte> scratch) const {
  const std::int64_t by_batch = kernels::ceil_quotient(sizes.batch, pieces.images);
  const std::int64_t by_channel = kernels::ceil_quotient(sizes.out_channels, pieces.channels);
  const std::int64_t in_space = input_size(sizes.window), out_space = output_size(sizes.window);
  const std::size_t scratch_each = scratch.size() / static_cast<std::size_t>(by_batch * by_channel);
  const auto* weights = reinterpret_cast<const float*>(weights_.data());
  const std::span<const FinishStep> steps = frame.take_finish();
  const auto body = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t n = i / by_channel * pieces.images, c = i % by_channel * pieces.channels;
      const bool whole = n + pieces.images <= sizes.batch && c + pieces.channels <= sizes.out_channels;
      const std::int64_t in_channel = sizes.groups > 1 ? c / sizes.out_per_group() * sizes.in_per_group() : 0;
      const ConvSizes own = piece_sizes(sizes, std::min(pieces.images, sizes.batch - n),
                                        std::min(pieces.channels, sizes.out_channels - c));
      const Piece piece{.kernel = (whole ? pieces.most : pieces.last).get(),
                        .x = x + (n * sizes.in_channels + in_channel) * in_space,
                        .weights = weights + c * sizes.depth(),
                        .bias = bias ? bias + c : nullptr,
                        .y = {y + (n * sizes.out_channels + c) * out_space,
                              static_cast<std::size_t>(own.batch * own.out_channels * out_space)},
                        .scratch = scratch.data() + static_cast<std::size_t>(i) * scratch_each,
                        .sizes = own};
      run_piece(piece);
      finish(steps, piece.y);
    }
  };
  frame.pool().run(by_batch * by_channel, 1,
                   [&body](std::int64_t first, std::int64_t last) { body(first, last); });
}

Result<const float*> BlockedConv::bias_of(Frame& frame, std::int64_t channels) const {
  if (!has_bias_ || bias_) return reinterpret_cast<const float*>(bias_.data());
  const Array bias = TRY(in_layout(frame, frame.in(2), Layout::plain));
  const auto numbers = TRY(frame.scratch_of<float>(padded(channels)));
  std::ranges::fill(numbers, 0.0f);
  std::ranges::copy(bias.elements<float>(), numbers.begin());
  return static_cast<const float*>(numbers.data());
}

Result<bool> BlockedConv::run(Frame& frame, const ConvSizes& sizes) const {
  const ConvSizes whole = padded_sizes(kind_, sizes);
  const auto pieces = this->pieces(whole);
  if (!pieces->most) return false;
  const Array& given = frame.in(0);
  const bool even = sizes.out_channels % 8 == 0;
  const Dims dims = output_dims(sizes.batch, sizes.out_channels, sizes.window, given.rank());
  // With one position per image, both layouts are identical; every operator accepts plain.
  const Layout layout = even && output_size(sizes.window) > 1 ? Layout::blocked8 : Layout::plain;
  const Array* sum = has_sum_ ? &frame.in(3) : nullptr;
  Array* out = nullptr;
  if (sum && even && sum->layout() == layout && sum->bytes() != given.bytes()) {
    out = TRY(frame.out_over(0, 3, ElementType::float32, dims));
  } else {
    out = TRY(frame.out(0, ElementType::float32, dims, layout));
  }
  const Array x = TRY(in_layout(frame, given, kind_ == ConvKind::few ? Layout::plain : Layout::blocked8));
  Array y = *out;
  if (even) {
    y = Array::over(ElementType::float32, dims, out->mutable_bytes(), {}, Layout::blocked8);
  } else {
    y = TRY(scratch_array(frame, ElementType::float32, dims, Layout::blocked8));
  }
  if (sum && sum->bytes() != y.bytes()) convert_layout(*sum, y, &frame.pool());
  const std::int64_t parts = kernels::ceil_quotient(whole.batch, pieces->images) *
                             kernels::ceil_quotient(whole.out_channels, pieces->channels);
  const auto each = static_cast<std::int64_t>(
      (std::max(pieces->most->scratch_bytes(), pieces->last->scratch_bytes()) + 63) / 64 * 64);
  const auto scratch = TRY(frame.scratch_of<std::byte>(each * parts));
  run_pieces(frame, *pieces, whole, x.data<float>(), TRY(bias_of(frame, sizes.out_channels)),
             y.mutable_data<float>(), scratch);
  if (!even) convert_layout(y, *out, &frame.pool());
  return true;
}

}  // namespace anybit::ops
