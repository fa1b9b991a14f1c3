#include "api/sample_image.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/mapped_file.hpp"
#include "base/try.hpp"
#include "images/image.hpp"

namespace anybit {
namespace {

// The channel axis and the height axis of an image input.
struct Form {
  std::size_t rank, channel_axis, height_axis;
  std::int64_t channels, height, width;  // 0: unknown
};

bool is_channels(std::int64_t dim) { return dim == 1 || dim == 3; }

Result<bool> channels_first(const Port& port, const std::string& layout) {
  std::string letters = layout;
  for (char& c : letters) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (letters == "NCHW" || letters == "CHW") return true;
  if (letters == "NHWC" || letters == "HWC") return false;
  if (!letters.empty())
    return invalid_argument(fmt::format("layout '{}' is not known", shown(layout)), "NCHW or NHWC");
  const std::size_t rank = port.dims.size();
  return is_channels(port.dims[rank - 3]) || !is_channels(port.dims[rank - 1]);
}

Result<Form> form_of(const Port& port, const SampleOptions& options) {
  const std::size_t rank = port.dims.size();
  const bool takes = port.has_rank && (rank == 4 || rank == 3);
  if (!takes || (rank == 4 && port.dims[0] > 1)) {
    return invalid_argument(
        fmt::format("an image cannot be the input {}", port.type.empty() ? "this" : port.type),
        "an input [1, channels, height, width] or [1, height, width, channels]");
  }
  const bool first = TRY(channels_first(port, options.layout));
  Form form{.rank = rank,
            .channel_axis = first ? rank - 3 : rank - 1,
            .height_axis = first ? rank - 2 : rank - 3,
            .channels = 3,
            .height = 0,
            .width = 0};
  if (port.dims[form.channel_axis] >= 0) form.channels = port.dims[form.channel_axis];
  if (!is_channels(form.channels)) {
    return invalid_argument(fmt::format("{} channels: an image has 1 or 3", form.channels),
                            fmt::format("the model takes {}; is another --layout meant?", port.type));
  }
  form.height = std::max<std::int64_t>(port.dims[form.height_axis], 0);
  form.width = std::max<std::int64_t>(port.dims[form.height_axis + 1], 0);
  if (!options.size.empty()) {
    form.height = options.size[0];
    form.width = options.size.back();
  }
  return form;
}

struct DecodedImage {
  std::int64_t height = 0, width = 0, channels = 0;
  std::vector<float> pixels;  // row by row, channels interleaved, 0 to 255
};

Result<DecodedImage> decode(const std::string& path, std::int64_t channels) {
  const auto file = TRY(MappedFile::open(path));
  const auto bytes = file->bytes().span();
  auto decoded = [&]() -> Result<DecodedImage> {
    const images::Size size = TRY(images::size_of(bytes));
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(size.height * size.width * channels));
    TRY(images::decode(bytes, static_cast<int>(channels), pixels));
    return DecodedImage{size.height, size.width, channels, {pixels.begin(), pixels.end()}};
  }();
  TRY(file->intact());
  if (!decoded.ok()) return std::move(decoded).error().within(path);
  return decoded;
}

// For each position of a resized line: the first source position and the weights. Triangle filter (bilinear),
// as wide as the larger of the source and destination steps, so that downscaling averages.
struct Tent {
  std::int64_t first;
  std::vector<float> weights;
};

std::vector<Tent> tents(std::int64_t from, std::int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to), reach = std::max(scale, 1.0);
  std::vector<Tent> result;
  for (std::int64_t i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const auto begin = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(center - reach + 0.5)));
    const auto end = std::min(from, static_cast<std::int64_t>(std::floor(center + reach + 0.5)));
    Tent tent{begin, {}};
    double sum = 0;
    for (std::int64_t k = begin; k < end; ++k) {
      const double away = std::abs(static_cast<double>(k) + 0.5 - center) / reach;
      tent.weights.push_back(static_cast<float>(std::max(0.0, 1 - away)));
      sum += static_cast<double>(tent.weights.back());
    }
    for (float& weight : tent.weights) weight = static_cast<float>(static_cast<double>(weight) / sum);
    result.push_back(std::move(tent));
  }
  return result;
}

// Resizes `lines` lines of `count` elements each to `to` lines, `outer` times.
std::vector<float> stretched(const std::vector<float>& from, std::int64_t outer, std::int64_t lines,
                             std::int64_t count, std::int64_t to) {
  std::vector<float> result(static_cast<std::size_t>(outer * to * count));
  const std::vector<Tent> plan = tents(lines, to);
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < to; ++i) {
      const Tent& tent = plan[static_cast<std::size_t>(i)];
      float* target = result.data() + (o * to + i) * count;
      for (std::size_t k = 0; k < tent.weights.size(); ++k) {
        const float* source = from.data() + (o * lines + tent.first + static_cast<std::int64_t>(k)) * count;
        for (std::int64_t c = 0; c < count; ++c) target[c] += tent.weights[k] * source[c];
      }
    }
  }
  return result;
}

DecodedImage resized(DecodedImage photo, std::int64_t height, std::int64_t width) {
  if (width != photo.width) {
    photo.pixels = stretched(photo.pixels, photo.height, photo.width, photo.channels, width);
    photo.width = width;
  }
  if (height != photo.height) {
    photo.pixels = stretched(photo.pixels, 1, photo.height, photo.width * photo.channels, height);
    photo.height = height;
  }
  return photo;
}

Result<float> channel_of(const std::vector<float>& numbers, std::int64_t channel, std::int64_t channels,
                         float otherwise, const char* what) {
  if (numbers.empty()) return otherwise;
  if (numbers.size() != 1 && static_cast<std::int64_t>(numbers.size()) != channels)
    return invalid_argument(fmt::format("{} numbers for {} of {} channels", numbers.size(), what, channels));
  const float number = numbers[numbers.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
  if (!(std::abs(number) <= 2))
    return invalid_argument(fmt::format("{} is {}, but pixels are 0 to 1 here", what, number),
                            "divide it by 255");
  return number;
}

// (pixel / 255 − mean) / std, in the input's layout.
Result<Value> as_floats(const DecodedImage& photo, const Form& form, std::vector<std::int64_t> dims,
                        const SampleOptions& options) {
  const bool planar = form.channel_axis < form.height_axis;
  const std::int64_t area = photo.height * photo.width, channels = photo.channels;
  std::vector<float> values(photo.pixels.size());
  for (std::int64_t c = 0; c < channels; ++c) {
    const float mean = TRY(channel_of(options.mean, c, channels, 0, "mean"));
    const float deviation = TRY(channel_of(options.std, c, channels, 1, "std"));
    if (deviation == 0) return invalid_argument("std is zero");
    for (std::int64_t i = 0; i < area; ++i) {
      const float pixel = photo.pixels[static_cast<std::size_t>(i * channels + c)] / 255.0f;
      values[static_cast<std::size_t>(planar ? c * area + i : i * channels + c)] = (pixel - mean) / deviation;
    }
  }
  return Value(TRY(Array::from_floats(std::move(values), std::move(dims))));
}

Result<Value> as_bytes(const DecodedImage& photo, const Form& form, std::vector<std::int64_t> dims,
                       const SampleOptions& options) {
  if (!options.mean.empty() || !options.std.empty())
    return invalid_argument("mean and std do not apply to an input of bytes");
  const bool planar = form.channel_axis < form.height_axis;
  const std::int64_t area = photo.height * photo.width, channels = photo.channels;
  std::vector<std::byte> values(photo.pixels.size());
  for (std::int64_t i = 0; i < area; ++i) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const float pixel = std::nearbyint(photo.pixels[static_cast<std::size_t>(i * channels + c)]);
      const auto byte = static_cast<std::byte>(static_cast<std::uint8_t>(std::clamp(pixel, 0.0f, 255.0f)));
      values[static_cast<std::size_t>(planar ? c * area + i : i * channels + c)] = byte;
    }
  }
  return Value(TRY(Array::from_bytes("uint8", std::move(values), std::move(dims))));
}

}  // namespace

Result<Value> read_image(const std::string& path, const Port& port, const SampleOptions& options) {
  const Form form = TRY(form_of(port, options));
  DecodedImage photo = TRY(decode(path, form.channels));
  const std::int64_t height = form.height > 0 ? form.height : photo.height;
  const std::int64_t width = form.width > 0 ? form.width : photo.width;
  photo = resized(std::move(photo), height, width);
  std::vector<std::int64_t> dims(form.rank, 1);
  dims[form.channel_axis] = photo.channels;
  dims[form.height_axis] = photo.height;
  dims[form.height_axis + 1] = photo.width;
  if (port.element_type == "uint8") return as_bytes(photo, form, std::move(dims), options);
  return as_floats(photo, form, std::move(dims), options);
}

}  // namespace anybit
