#include "train/batches.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.hpp"
#include "base/try.hpp"
#include "train/random.hpp"

namespace anybit::train {
namespace {

using ops::Array;
using ops::Dims;

// Streams of random numbers.
constexpr std::uint64_t kOrder = 1 << 20, kChange = 2 << 20;

void shuffle(std::vector<std::int64_t>& list, std::uint64_t seed, std::uint64_t stream) {
  for (std::size_t i = list.size(); i > 1; --i)
    std::swap(list[i - 1], list[random_below(random_at(seed, stream, i), i)]);
}

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

// Writes the image `from`, moved and mirrored; pixels from outside are those at the edge.
void write_changed(const float* from, const ImageForm& form, std::int64_t down, std::int64_t right,
                   bool mirror, float* to) {
  for (std::int64_t plane = 0; plane < form.planes; ++plane) {
    for (std::int64_t y = 0; y < form.height; ++y) {
      const std::int64_t row = plane * form.height + std::clamp<std::int64_t>(y + down, 0, form.height - 1);
      for (std::int64_t x = 0; x < form.width; ++x) {
        std::int64_t column = std::clamp<std::int64_t>(x + right, 0, form.width - 1);
        if (mirror) column = form.width - 1 - column;
        std::copy_n(from + (row * form.width + column) * form.inner, form.inner, to);
        to += form.inner;
      }
    }
  }
}

// Every image of the array; the same change for each input of a sample.
void change_images(Array& array, const Augmentation& change, std::int64_t sample, ops::Memory& memory) {
  const auto form = image_form(array);
  if (!form) return;
  auto copy = array.copy(memory);
  if (!copy.ok()) return;
  const std::uint64_t bits =
      random_at(change.seed, kChange + change.step, static_cast<std::uint64_t>(sample));
  const auto most_down = form->height / 14, most_right = form->width / 14;  // 2 of 28 or 32 pixels
  const auto offset = [&](std::uint64_t from, std::int64_t most) {
    return static_cast<std::int64_t>(random_below(from, static_cast<std::uint64_t>(2 * most + 1))) - most;
  };
  const std::int64_t down = change.shift ? offset(bits << 16, most_down) : 0,
                     right = change.shift ? offset(bits << 32, most_right) : 0;
  const bool mirror = change.flip && (bits >> 63) != 0;
  const std::int64_t each = form->planes * form->height * form->width * form->inner;
  for (std::int64_t i = 0; i < array.dim(0); ++i)
    write_changed(copy->data<float>() + i * each, *form, down, right, mirror,
                  array.mutable_data<float>() + i * each);
}

}  // namespace

BatchOrder::BatchOrder(const SampleStore& samples, std::int64_t batch, std::uint64_t seed)
    : samples_(samples), batch_(std::max<std::int64_t>(batch, 1)), seed_(seed) {}

void BatchOrder::start_epoch() {
  std::vector<std::int64_t> order(static_cast<std::size_t>(samples_.size()));
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, seed_, kOrder + epoch_++);
  ready_.clear();
  at_ = 0;
  std::map<std::string_view, std::vector<std::int64_t>> waiting;
  for (const std::int64_t i : order) {
    std::vector<std::int64_t>& list = waiting[samples_.form(i)];
    list.push_back(i);
    if (std::ssize(list) == batch_) ready_.push_back(std::exchange(list, {}));
  }
  // Samples that fill no batch wait for another epoch, unless their form has no more.
  std::map<std::string_view, bool> used;
  for (const auto& one : ready_) used[samples_.form(one.front())] = true;
  for (auto& [form, list] : waiting) {
    if (!list.empty() && !used[form]) ready_.push_back(std::move(list));
  }
}

std::vector<std::int64_t> BatchOrder::next() {
  if (at_ == ready_.size()) start_epoch();
  return ready_[at_++];
}

void BatchOrder::skip(std::int64_t batches) {
  for (std::int64_t i = 0; i < batches; ++i) next();
}

Result<Augmentation> augmentation_named(std::string_view text, std::uint64_t seed) {
  if (text == "none") return Augmentation{.seed = seed};
  if (text == "shift") return Augmentation{.shift = true, .seed = seed};
  if (text == "flip") return Augmentation{.flip = true, .seed = seed};
  if (text == "shift,flip" || text == "flip,shift") return Augmentation{true, true, seed};
  return invalid_argument(fmt::format("no augmentation '{}'", shown(text)),
                          "none, shift, flip or shift,flip");
}

Result<Sample> stacked(const SampleStore& samples, const std::vector<std::int64_t>& which,
                       const Augmentation& change, ops::Memory& memory) {
  std::vector<Sample> parts;
  for (const std::int64_t i : which) parts.push_back(TRY(samples.get(i)));
  if (change.shift || change.flip) {
    for (std::size_t k = 0; k < parts.size(); ++k) {
      for (auto& [name, value] : parts[k]) {
        value.array = TRY(value.array.copy(memory));
        change_images(value.array, change, which[k], memory);
      }
    }
  }
  if (parts.size() == 1) return std::move(parts[0]);
  Sample all;
  for (const auto& [name, first] : parts[0]) {
    std::vector<const Array*> list;
    for (const Sample& part : parts) list.push_back(&part.at(name).array);
    all.emplace(name, TRY(joined_rows(list, memory)));
  }
  return all;
}

std::int64_t rows_of(const Sample& sample) {
  for (const auto& [name, value] : sample) {
    if (value.array.rank() > 0) return value.array.dim(0);
  }
  return 1;
}

Result<std::vector<Array>> split_rows(const Array& array, const std::vector<std::int64_t>& rows,
                                      ops::Memory& memory) {
  std::vector<Array> parts;
  const std::int64_t all = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  if (array.rank() == 0 || all == 0 || array.dim(0) % all != 0)
    return error_at(
        Code::unsupported, {},
        fmt::format("{} for {} samples cannot be divided into them", to_string(array), rows.size()));
  const std::int64_t each = array.dim(0) / all;  // rows of the output by row of the input
  const std::byte* from = array.bytes();
  for (const std::int64_t count : rows) {
    Dims dims = array.dims();
    dims[0] = each * count;
    Array& part = parts.emplace_back(TRY(Array::make(memory, array.type(), dims)));
    std::memcpy(part.mutable_bytes(), from, part.byte_count());
    from += part.byte_count();
  }
  return parts;
}

Result<Array> joined_rows(const std::vector<const Array*>& parts, ops::Memory& memory) {
  if (parts[0]->rank() == 0) return *parts[0];
  Dims dims = parts[0]->dims();
  dims[0] = 0;
  for (const Array* part : parts) dims[0] += part->dim(0);
  Array all = TRY(Array::make(memory, parts[0]->type(), dims));
  std::byte* to = all.mutable_bytes();
  for (const Array* part : parts) {
    std::memcpy(to, part->bytes(), part->byte_count());
    to += part->byte_count();
  }
  return all;
}

}  // namespace anybit::train
