#include "ops/training/conv_gradient_blocked.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>

#include "kernels/conv/conv_gradient_onednn.hpp"
#include "kernels/move/layout_transform.hpp"
#include "ops/layout.hpp"

namespace anybit::ops {
namespace {

using kernels::ConvSizes;
using kernels::DnnlConvGradient;
using By = kernels::ConvGradientPiece::By;
using Form = kernels::ConvGradientPiece::Form;
using Kernel = std::shared_ptr<const DnnlConvGradient>;

constexpr double kPieceWork = 4e6;           // multiply-accumulates: worth a task of its own
constexpr std::int64_t kMostSums = 8;        // pieces whose gradients of the weights are added
constexpr std::int64_t kFewPositions = 256;  // of a piece, for which adding the weights costs little
constexpr std::int64_t kFewOfX = 3;

std::int64_t in_blocks(std::int64_t channels, std::int64_t block) { return (channels + block - 1) / block; }

// Multiply-accumulates for each element that would be moved between blocks of 8 and of 16, from which on the
// kernels for 16 gain more than that costs.
constexpr std::int64_t kWorthMoving = 17;

// Whether tensors in blocks of 8 are best used where they are.
bool stays(const ConvSizes& sizes, const Array& one, const Array& other) {
  if (one.layout() != Layout::blocked8 || other.layout() != Layout::blocked8) return false;
  const std::int64_t moved =
      sizes.in_channels * input_size(sizes.window) + sizes.out_channels * output_size(sizes.window);
  return sizes.out_channels * output_size(sizes.window) * sizes.depth() < kWorthMoving * moved;
}

std::optional<kernels::ConvGradientPiece> piece_of(By by, const ConvSizes& sizes, bool stays) {
  kernels::ConvGradientPiece piece{
      .by = by, .block = stays ? 8 : DnnlConvGradient::largest_block(), .sizes = sizes};
  if (sizes.groups == 1) {
    if (sizes.in_channels <= kFewOfX) piece.form = Form::few;
    if (std::max(sizes.in_channels, sizes.out_channels) <= 8) piece.block = 8;
    return piece;
  }
  if (sizes.in_per_group() == 1 && sizes.out_per_group() == 1) {
    piece.form = Form::depthwise;
    return piece;
  }
  if (sizes.in_per_group() % 8 != 0 || sizes.out_per_group() % 8 != 0) return std::nullopt;
  if (sizes.in_per_group() % 16 != 0 || sizes.out_per_group() % 16 != 0) piece.block = 8;
  return piece;
}

// Image `image` of an array, as [channels / block][space][block]; padding channels are zero.
void read_image(const Array& from, std::int64_t image, std::int64_t block, float* to) {
  const std::int64_t channels = from.dim(1), space = from.dims().product(2, from.rank());
  const bool blocked = from.layout() == Layout::blocked8;
  const float* data = from.data<float>() + image * space * (blocked ? in_blocks(channels, 8) * 8 : channels);
  const std::int64_t step = blocked ? 8 : block;  // channels that are moved at once
  for (std::int64_t c = 0; c < in_blocks(channels, block) * block; c += step) {
    float* target = to + c / block * block * space + c % block;
    const std::int64_t count = std::clamp<std::int64_t>(channels - c, 0, step);
    if (from.layout() == Layout::plain && count > 0) {
      kernels::transpose_tiles(count, space, reinterpret_cast<const std::uint32_t*>(data + c * space), space,
                               reinterpret_cast<std::uint32_t*>(target), block);
    } else if (blocked && count == 8) {
      for (std::int64_t s = 0; s < space; ++s) std::memcpy(target + s * block, data + c * space + s * 8, 32);
    } else if (count > 0) {
      const std::int64_t stride = blocked ? 8 : channels;
      const float* source = blocked ? data + c * space : data + c;
      for (std::int64_t s = 0; s < space; ++s) std::copy_n(source + s * stride, count, target + s * block);
    }
    if (count == step) continue;
    for (std::int64_t s = 0; s < space; ++s) std::fill_n(target + s * block + count, step - count, 0.0f);
  }
}

// The inverse, to a plain or blocked array.
void write_image(const float* from, std::int64_t block, std::int64_t image, Array& to) {
  const std::int64_t channels = to.dim(1), space = to.dims().product(2, to.rank());
  float* data = to.mutable_data<float>() + image * space * channels;
  const bool blocked = to.layout() == Layout::blocked8;
  const std::int64_t step = blocked ? 8 : block;
  for (std::int64_t c = 0; c < channels; c += step) {
    const float* source = from + c / block * block * space + c % block;
    if (blocked) {
      for (std::int64_t s = 0; s < space; ++s) std::memcpy(data + c * space + s * 8, source + s * block, 32);
      continue;
    }
    kernels::transpose_tiles(space, std::min(step, channels - c),
                             reinterpret_cast<const std::uint32_t*>(source), block,
                             reinterpret_cast<std::uint32_t*>(data + c * space), space);
  }
}

// A batch in pieces of `images`; the last may be smaller, with a kernel of its own.
struct Pieces {
  std::int64_t images = 1, count = 1;
  Kernel most, last;

  std::size_t scratch_bytes() const { return std::max(most->scratch_bytes(), last->scratch_bytes()); }
};

std::optional<Pieces> cut(kernels::ConvGradientPiece piece) {
  const ConvSizes sizes = piece.sizes;
  const std::int64_t positions = output_size(sizes.window);
  const double work = static_cast<double>(sizes.out_channels) * static_cast<double>(positions) *
                      static_cast<double>(sizes.depth());
  auto images = static_cast<std::int64_t>(std::min(kPieceWork / work, 1e9)) + 1;
  if (piece.by == By::weight) {
    images = std::max({images, kernels::ceil_quotient(kFewPositions, positions),
                       kernels::ceil_quotient(sizes.batch, kMostSums)});
  }
  Pieces pieces;
  pieces.images = std::min(images, sizes.batch);
  pieces.count = kernels::ceil_quotient(sizes.batch, pieces.images);
  piece.sizes.batch = pieces.images;
  pieces.most = DnnlConvGradient::make(piece);
  piece.sizes.batch = sizes.batch - (pieces.count - 1) * pieces.images;
  pieces.last = DnnlConvGradient::make(piece);
  if (!pieces.most || !pieces.last) return std::nullopt;
  return pieces;
}

// Memory of the pieces that run at the same time.
class PieceMemory {
 public:
  static Result<PieceMemory> make(Frame& frame, std::int64_t pieces, std::int64_t bytes) {
    PieceMemory made;
    const std::int64_t count = std::min<std::int64_t>(frame.pool().threads(), pieces);
    made.free_ = TRY(frame.scratch_of<std::byte*>(count));
    const std::int64_t each = (bytes + 63) / 64 * 64;
    std::byte* place = TRY(frame.scratch(each * count));
    for (std::byte*& one : made.free_) one = std::exchange(place, place + each);
    made.left_ = made.free_.size();
    return made;
  }
  PieceMemory() = default;
  PieceMemory(PieceMemory&& other) noexcept : free_(other.free_), left_(other.left_) {}

  template <class Body>
  void with(const Body& body) {
    struct Held {
      explicit Held(PieceMemory& owner) : of(owner) {
        std::unique_lock lock(of.mutex_);
        of.returned_.wait(lock, [this] { return of.left_ > 0; });
        place = of.free_[--of.left_];
      }
      ~Held() {
        {
          const std::lock_guard lock(of.mutex_);
          of.free_[of.left_++] = place;
        }
        of.returned_.notify_one();
      }
      Held(const Held&) = delete;
      Held& operator=(const Held&) = delete;
      PieceMemory& of;
      std::byte* place = nullptr;
    };
    const Held held(*this);
    body(held.place);
  }

 private:
  std::mutex mutex_;
  std::condition_variable returned_;
  std::span<std::byte*> free_;
  std::size_t left_ = 0;
};

// One tensor of a piece in the kernel's layout: in place if it is stored so, else in the slot.
struct Side {
  std::int64_t image = 0;  // floats of one image
  bool in_place = false;

  Side(const Array& array, std::int64_t block)
      : image(in_blocks(array.dim(1), block) * block * array.dims().product(2, array.rank())),
        in_place((array.layout() == Layout::blocked8 && block == 8) ||
                 (array.dims().product(2, array.rank()) == 1 && array.layout() == Layout::plain &&
                  array.dim(1) % block == 0)) {}
  static Side plain(const Array& array) {
    Side side(array, 8);
    side.image = array.dims().product(1, array.rank());
    side.in_place = true;
    return side;
  }
  std::int64_t bytes(std::int64_t images) const { return in_place ? 0 : (images * image * 4 + 63) / 64 * 64; }
};

// The images [first, first + count) in the kernel's layout.
const float* given(const Array& array, const Side& side, std::int64_t block, std::int64_t first,
                   std::int64_t count, std::byte*& slot) {
  if (side.in_place) return array.data<float>() + first * side.image;
  auto* const copy = reinterpret_cast<float*>(slot);
  slot += side.bytes(count);
  for (std::int64_t i = 0; i < count; ++i) read_image(array, first + i, block, copy + i * side.image);
  return copy;
}

}  // namespace

Result<bool> gradient_by_input_blocked(Frame& frame, const ConvSizes& sizes, const Array& dy, const Array& w,
                                       const Dims& dims) {
  const bool blocked = sizes.in_channels % 8 == 0 && input_size(sizes.window) > 1;
  const Layout layout = blocked ? Layout::blocked8 : Layout::plain;
  const Array like = Array::over(ElementType::float32, dims, nullptr, {}, layout);
  const auto piece = piece_of(By::input, sizes, stays(sizes, dy, like));
  const auto pieces = piece ? cut(*piece) : std::nullopt;
  if (!pieces) return false;
  Array* dx = TRY(frame.out(0, ElementType::float32, dims, layout));
  const std::int64_t block = piece->block;
  const Side from(dy, block), to(*dx, block);
  const auto weights = TRY(frame.scratch_of<float>(pieces->most->weight_count()));
  pieces->most->order_weights(w.data<float>(), weights.data());
  const auto work_bytes = static_cast<std::int64_t>((pieces->scratch_bytes() + 63) / 64 * 64);
  PieceMemory memory = TRY(PieceMemory::make(
      frame, pieces->count, from.bytes(pieces->images) + to.bytes(pieces->images) + work_bytes));
  frame.pool().run(pieces->count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      memory.with([&](std::byte* slot) {
        const std::int64_t first = p * pieces->images, count = std::min(pieces->images, sizes.batch - first);
        const float* gradients = given(dy, from, block, first, count, slot);
        float* result =
            to.in_place ? dx->mutable_data<float>() + first * to.image : reinterpret_cast<float*>(slot);
        const DnnlConvGradient& kernel = p + 1 == pieces->count ? *pieces->last : *pieces->most;
        kernel.run(gradients, weights.data(), result, slot + to.bytes(pieces->images));
        if (to.in_place) return;
        for (std::int64_t i = 0; i < count; ++i) write_image(result + i * to.image, block, first + i, *dx);
      });
    }
  });
  return true;
}

Result<bool> gradient_by_weight_blocked(Frame& frame, const ConvSizes& sizes, const Array& dy,
                                        const Array& given_x, const Dims& dims) {
  const auto piece = piece_of(By::weight, sizes, stays(sizes, dy, given_x));
  const auto pieces = piece ? cut(*piece) : std::nullopt;
  if (!pieces) return false;
  Array* dw = TRY(frame.out(0, ElementType::float32, dims));
  const bool few = piece->form == Form::few;
  const Array x = few ? TRY(in_layout(frame, given_x, Layout::plain)) : given_x;
  const std::int64_t block = piece->block, size = pieces->most->weight_count();
  const Side gradients(dy, block), images = few ? Side::plain(x) : Side(x, block);
  const auto sums = TRY(frame.scratch_of<float>(size * pieces->count));
  const auto work_bytes = static_cast<std::int64_t>((pieces->scratch_bytes() + 63) / 64 * 64);
  PieceMemory memory = TRY(PieceMemory::make(
      frame, pieces->count, gradients.bytes(pieces->images) + images.bytes(pieces->images) + work_bytes));
  frame.pool().run(pieces->count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      memory.with([&](std::byte* slot) {
        const std::int64_t first = p * pieces->images, count = std::min(pieces->images, sizes.batch - first);
        const float* of_y = given(dy, gradients, block, first, count, slot);
        const float* of_x = given(x, images, block, first, count, slot);
        const DnnlConvGradient& kernel = p + 1 == pieces->count ? *pieces->last : *pieces->most;
        kernel.run(of_y, of_x, sums.data() + p * size, slot);
      });
    }
  });
  parallel(frame, size, static_cast<double>(pieces->count), [&](std::int64_t first, std::int64_t last) {
    float* const sum = sums.data();
    for (std::int64_t p = 1; p < pieces->count; ++p) {
      const float* more = sums.data() + p * size;
      for (std::int64_t i = first; i < last; ++i) sum[i] += more[i];
    }
  });
  pieces->most->plain_weights(sums.data(), dw->mutable_data<float>());
  return true;
}

}  // namespace anybit::ops
