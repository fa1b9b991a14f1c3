#include "train/augment.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/try.hpp"
#include "train/random.hpp"

namespace anybit::train {
namespace {

using ops::Array;
using ops::Dims;

// Streams of random numbers.
constexpr std::uint64_t kMove = 2 << 20, kMix = 3 << 20;

// An image as [channels, height, width, inner]: inner channels if they come last.
struct ImageForm {
  std::int64_t planes, height, width, inner;
};

std::optional<ImageForm> image_form(const Array& array) {
  constexpr std::int64_t kMostChannels = 4;
  if (array.type() != ops::ElementType::float32 || array.rank() != 4) return std::nullopt;
  const Dims& dims = array.dims();
  if (dims[1] <= kMostChannels) return ImageForm{dims[1], dims[2], dims[3], 1};
  if (dims[3] <= kMostChannels) return ImageForm{1, dims[1], dims[2], dims[3]};
  return std::nullopt;
}

// The pixel that stands for one outside: mirrored at the edge, which is not repeated.
std::int64_t reflected(std::int64_t at, std::int64_t length) {
  if (at < 0) at = -at;
  if (at >= length) at = 2 * (length - 1) - at;
  return std::clamp<std::int64_t>(at, 0, length - 1);
}

struct Move {
  std::int64_t down = 0, right = 0;
  bool mirror = false;
};

void write_moved(const float* from, const ImageForm& form, const Move& move, float* to) {
  for (std::int64_t plane = 0; plane < form.planes; ++plane) {
    for (std::int64_t y = 0; y < form.height; ++y) {
      const std::int64_t row = plane * form.height + reflected(y + move.down, form.height);
      for (std::int64_t x = 0; x < form.width; ++x) {
        std::int64_t column = reflected(x + move.right, form.width);
        if (move.mirror) column = form.width - 1 - column;
        std::copy_n(from + (row * form.width + column) * form.inner, form.inner, to);
        to += form.inner;
      }
    }
  }
}

Result<void> move_image(Array& array, const Augmentation& change, std::uint64_t bits, ops::Memory& memory) {
  const auto form = image_form(array);
  if (!form) return {};
  constexpr std::int64_t kPart = 10;  // of the size: 3 of 32 pixels
  const auto offset = [&](std::uint64_t from, std::int64_t size) {
    const std::int64_t most = change.shift ? size / kPart : 0;
    return static_cast<std::int64_t>(random_below(from, static_cast<std::uint64_t>(2 * most + 1))) - most;
  };
  const Move move{offset(bits << 16, form->height), offset(bits << 32, form->width),
                  change.flip && (bits >> 63) != 0};
  Array moved = TRY(Array::make(memory, array.type(), array.dims()));
  const std::int64_t each = form->planes * form->height * form->width * form->inner;
  for (std::int64_t i = 0; i < array.dim(0); ++i)
    write_moved(array.data<float>() + i * each, *form, move, moved.mutable_data<float>() + i * each);
  array = std::move(moved);
  return {};
}

}  // namespace

Result<Augmentation> augmentation_named(std::string_view text, std::uint64_t seed) {
  Augmentation change{.seed = seed};
  if (text == "none" || text == "auto") return change;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(','));
    bool* const of = word == "shift"  ? &change.shift
                     : word == "flip" ? &change.flip
                     : word == "mix"  ? &change.mix
                                      : nullptr;
    if (!of)
      return invalid_argument(fmt::format("no augmentation '{}'", shown(text)),
                              "auto, none, or some of shift, flip and mix: shift,flip,mix");
    *of = true;
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  }
  return change;
}

std::string name_of(const Augmentation& change) {
  std::vector<std::string_view> words;
  if (change.shift) words.emplace_back("shift");
  if (change.flip) words.emplace_back("flip");
  if (change.mix) words.emplace_back("mix");
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ","));
}

bool is_image(const Sample& sample) {
  constexpr std::int64_t kLeast = 16;  // pixels
  if (sample.size() != 1 || !sample.begin()->second.is_array()) return false;
  const auto form = image_form(sample.begin()->second.array);
  return form && form->height >= kLeast && form->width >= kLeast;
}

Result<void> move_images(Sample& sample, const Augmentation& change, std::int64_t number,
                         ops::Memory& memory) {
  if (!change.shift && !change.flip) return {};
  const std::uint64_t bits = random_at(change.seed, kMove + change.step, static_cast<std::uint64_t>(number));
  for (auto& [name, value] : sample) TRY(move_image(value.array, change, bits, memory));
  return {};
}

std::vector<float> mixture(const Augmentation& change, std::int64_t rows) {
  std::vector<float> shares(static_cast<std::size_t>(rows), 1.0F);
  for (std::int64_t i = 0; i < rows && rows > 1; ++i) {
    const std::uint64_t bits = random_at(change.seed, kMix + change.step, static_cast<std::uint64_t>(i));
    if (i % 2 == 0) shares[static_cast<std::size_t>(i)] = static_cast<float>(bits >> 40) * 0x1p-24F;
  }
  return shares;
}

Result<void> mix_rows(Array& array, const std::vector<float>& shares, ops::Memory& memory) {
  const auto rows = std::ssize(shares);
  if (array.type() != ops::ElementType::float32 || array.rank() == 0 || array.dim(0) != rows) return {};
  const std::int64_t each = array.count() / std::max<std::int64_t>(rows, 1);
  Array mixed = TRY(Array::make(memory, array.type(), array.dims()));
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* a = array.data<float>() + row * each;
    const float* b = array.data<float>() + (row + 1) % rows * each;
    float* to = mixed.mutable_data<float>() + row * each;
    const float share = shares[static_cast<std::size_t>(row)];
    for (std::int64_t i = 0; i < each; ++i) to[i] = share * a[i] + (1 - share) * b[i];
  }
  array = std::move(mixed);
  return {};
}

}  // namespace anybit::train
