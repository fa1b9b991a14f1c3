// JPEG 2000 by OpenJPEG (ITU-T T.800), in JP2 or as a bare codestream: gray and RGB, up to 16 bits, of which
// the upper 8 are used. OpenJPEG allocates memory as the header says, so the header is checked here first.
#include <openjpeg.h>

#include <memory>

#include "images/checks.hpp"

namespace anybit::images {
namespace {

constexpr std::string_view kEndings[] = {".jp2", ".j2k"};
// A few bytes can hold an image of one colour, so small images are allowed regardless of the file size.
constexpr std::int64_t kFreePixels = std::int64_t{1} << 22, kMostPixelsPerByte = 4096;
constexpr std::string_view kBare = "\xFF\x4F\xFF\x51", kBox = "\r\n\x87\n";
enum Marker : std::uint32_t { kCod = 0xFF52, kCoc = 0xFF53, kSot = 0xFF90, kSod = 0xFF93, kEnd = 0xFFD9 };

bool is_bare(File file) { return starts_with(file, kBare); }

// Finds the codestream: in a JP2 file, the box jp2c.
Result<File> code_stream(File file) {
  if (is_bare(file)) return file;
  for (std::size_t at = 0; file.size() - at >= 16;) {
    std::uint64_t size = big(bytes_of(file) + at, 4);
    std::size_t header = 8;
    if (size == 1) {
      size = std::uint64_t{big(bytes_of(file) + at + 8, 4)} << 32 | big(bytes_of(file) + at + 12, 4);
      header = 16;
    }
    if (size == 0) size = file.size() - at;
    if (size < header || size > file.size() - at) return damaged("the file is cut off");
    if (starts_with(file, "jp2c", at + 4)) return file.subspan(at + header);
    at += static_cast<std::size_t>(size);
  }
  return damaged("it has no code stream");
}

struct Stream {
  Header header;
  std::int64_t tiles = 0, components = 0;
};

// Reads SIZ, the first marker segment (T.800, A.5.1).
Result<Stream> read_size(File stream) {
  const std::uint8_t* bytes = bytes_of(stream);
  if (stream.size() < 42 || !is_bare(stream)) return damaged("the file is cut off");
  std::int64_t numbers[8];  // Xsiz, Ysiz, XOsiz, YOsiz, XTsiz, YTsiz, XTOsiz, YTOsiz
  for (int i = 0; i < 8; ++i) numbers[i] = big(bytes + 8 + 4 * i, 4);
  Stream result{.header = {.height = numbers[1] - numbers[3], .width = numbers[0] - numbers[2]}};
  result.components = big(bytes + 40, 2);
  if (result.header.width < 1 || result.header.height < 1 || numbers[4] < 1 || numbers[5] < 1 ||
      numbers[6] > numbers[2] || numbers[7] > numbers[3] || result.components < 1) {
    return damaged("its size is damaged");
  }
  const std::int64_t across = (numbers[0] - numbers[6] - 1) / numbers[4] + 1;
  const std::int64_t down = (numbers[1] - numbers[7] - 1) / numbers[5] + 1;
  result.tiles = across * down;
  if (result.components > 4)
    return unsupported(fmt::format("{} components are not read", result.components), "1 to 4");
  // A tile-part header takes at least 14 bytes.
  const auto size = static_cast<std::int64_t>(stream.size());
  if (across > size || down > size || result.tiles > size / 14)
    return damaged(
        fmt::format("{} x {} tiles are claimed, and {} bytes cannot hold them", across, down, size));
  return result;
}

// The number of packets per layer and component for a coding style (COD, COC), from the decomposition levels
// on.
Result<std::int64_t> packets(const Stream& stream, std::span<const std::byte> style, bool own_precincts) {
  const std::uint8_t* bytes = bytes_of(style);
  const std::size_t levels = style.size() < 5 ? 33 : bytes[0];
  if (levels > 32 || (own_precincts && style.size() < 5 + levels + 1))
    return damaged("a coding style is damaged");
  std::int64_t count = stream.tiles * static_cast<std::int64_t>(levels + 1);
  for (std::size_t r = 0; own_precincts && r <= levels; ++r) {
    const std::size_t shrink = levels - r;
    const int wide = bytes[5 + r] & 15, high = bytes[5 + r] >> 4;
    const std::int64_t width = stream.header.width >> shrink, height = stream.header.height >> shrink;
    count += ((width >> wide) + 1) * ((height >> high) + 1);
  }
  return count;
}

// Checks the coding styles of the image and its tiles: a packet takes at least one byte, and memory.
Result<void> check_styles(File stream, const Stream& told) {
  const std::uint8_t* bytes = bytes_of(stream);
  const std::int64_t most = 1000 + 2 * static_cast<std::int64_t>(stream.size());
  std::int64_t layers = 1;
  std::size_t next_tile = 0;
  for (std::size_t at = 2; stream.size() - at >= 4;) {
    const std::uint32_t marker = big(bytes + at, 2), length = big(bytes + at + 2, 2);
    if (marker == kEnd) break;
    if (marker == kSod) {
      if (next_tile <= at || next_tile > stream.size()) break;  // last, or truncated: the decoder reports it
      at = next_tile;
      continue;
    }
    if (length < 2 || length > stream.size() - at - 2) return damaged("a marker is damaged");
    const File body = stream.subspan(at + 4, length - 2);
    if (marker == kSot && body.size() >= 6) next_tile = at + big(bytes_of(body) + 2, 4);
    const std::size_t flags = marker == kCod ? 0 : 1, levels = marker == kCod ? 5 : 2;
    if ((marker == kCod || marker == kCoc) && body.size() > levels) {
      if (marker == kCod) layers = big(bytes_of(body) + 2, 2);
      const bool own = (bytes_of(body)[flags] & 1) != 0;
      if (TRY(packets(told, body.subspan(levels), own)) >
          most / std::max<std::int64_t>(layers * told.components, 1))
        return damaged("it claims more packets than its bytes can hold");
    }
    at += 2 + length;
  }
  return {};
}

template <auto free>
struct Free {
  template <class T>
  void operator()(T* owned) const {
    free(owned);
  }
};
using OwnStream = std::unique_ptr<opj_stream_t, Free<opj_stream_destroy>>;
using OwnCodec = std::unique_ptr<opj_codec_t, Free<opj_destroy_codec>>;
using OwnImage = std::unique_ptr<opj_image_t, Free<opj_image_destroy>>;

struct Source {
  File file;
  std::size_t at = 0;
  std::string message = {};

  static void complain(const char* message, void* self) {
    std::string& kept = static_cast<Source*>(self)->message;
    if (!kept.empty()) return;
    kept = message;
    while (kept.ends_with('\n')) kept.pop_back();
  }
  static OPJ_SIZE_T read(void* to, OPJ_SIZE_T size, void* self) {
    Source& source = *static_cast<Source*>(self);
    const std::size_t count = std::min(size, source.file.size() - source.at);
    if (count == 0) return static_cast<OPJ_SIZE_T>(-1);
    std::memcpy(to, source.file.data() + source.at, count);
    source.at += count;
    return count;
  }
  static OPJ_OFF_T skip(OPJ_OFF_T count, void* self) {
    Source& source = *static_cast<Source*>(self);
    const auto left = static_cast<OPJ_OFF_T>(source.file.size() - source.at);
    if (count < 0 || count > left) return -1;
    source.at += static_cast<std::size_t>(count);
    return count;
  }
  static OPJ_BOOL seek(OPJ_OFF_T to, void* self) {
    Source& source = *static_cast<Source*>(self);
    if (to < 0 || to > static_cast<OPJ_OFF_T>(source.file.size())) return OPJ_FALSE;
    source.at = static_cast<std::size_t>(to);
    return OPJ_TRUE;
  }
};

Result<void> check_image(const opj_image_t& image, const Header& header) {
  const bool known = image.color_space == OPJ_CLRSPC_SRGB || image.color_space == OPJ_CLRSPC_GRAY ||
                     image.color_space == OPJ_CLRSPC_UNSPECIFIED || image.color_space == OPJ_CLRSPC_UNKNOWN;
  if (!known || image.numcomps < 1 || image.numcomps > 4)
    return unsupported("its colours are not read", "gray or RGB");
  for (OPJ_UINT32 c = 0; c < image.numcomps; ++c) {
    const opj_image_comp_t& component = image.comps[c];
    if (component.w != header.width || component.h != header.height)
      return unsupported("its components differ in size");
    if (component.prec < 1 || component.prec > 16)
      return unsupported(fmt::format("{} bits are not read", component.prec), "at most 16");
    if (component.data == nullptr) return damaged("a component has no data");
  }
  return {};
}

std::uint8_t value_of(const opj_image_comp_t& component, std::size_t at) {
  const int bits = static_cast<int>(component.prec);
  const int value = component.data[at] + (component.sgnd != 0 ? 1 << (bits - 1) : 0);
  return static_cast<std::uint8_t>(std::clamp(bits > 8 ? value >> (bits - 8) : value << (8 - bits), 0, 255));
}

bool matches(File file) {
  return is_bare(file) || (starts_with(file, "jP  ", 4) && starts_with(file, kBox, 8));
}

Result<Header> read_header(File file) {
  const File stream = TRY(code_stream(file));
  Stream told = TRY(read_size(stream));
  told.header.most_pixels = kFreePixels + pixels_in(file, kMostPixelsPerByte);
  if (told.header.height <= told.header.most_pixels / told.header.width) TRY(check_styles(stream, told));
  return told.header;
}

Result<void> decode(File file, const Header& header, std::uint8_t* rgb) {
  Source source{file};
  const OwnStream stream(opj_stream_default_create(OPJ_TRUE));
  const OwnCodec codec(opj_create_decompress(is_bare(file) ? OPJ_CODEC_J2K : OPJ_CODEC_JP2));
  if (!stream || !codec) return error_at(Code::out_of_memory, {}, "OpenJPEG has no memory");
  opj_stream_set_user_data(stream.get(), &source, nullptr);
  opj_stream_set_user_data_length(stream.get(), file.size());
  opj_stream_set_read_function(stream.get(), Source::read);
  opj_stream_set_skip_function(stream.get(), Source::skip);
  opj_stream_set_seek_function(stream.get(), Source::seek);
  opj_set_error_handler(codec.get(), Source::complain, &source);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  const auto failed = [&] {
    return damaged(source.message.empty() ? "the file is damaged" : source.message);
  };
  opj_image_t* opened = nullptr;
  const bool read = opj_setup_decoder(codec.get(), &parameters) != 0 &&
                    opj_read_header(stream.get(), codec.get(), &opened) != 0;
  const OwnImage image(opened);
  if (!read || !image) return failed();
  // A warning during decoding, such as a truncated tile, means that pixels are missing.
  opj_set_warning_handler(codec.get(), Source::complain, &source);
  if (opj_decode(codec.get(), stream.get(), image.get()) == 0 ||
      opj_end_decompress(codec.get(), stream.get()) == 0 || !source.message.empty()) {
    return failed();
  }
  TRY(check_image(*image, header));
  const auto count = static_cast<std::size_t>(header.height * header.width);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t c = 0; c < 3; ++c)
      rgb[3 * i + c] = value_of(image->comps[image->numcomps < 3 ? 0 : c], i);
  }
  return {};
}

std::string_view library() {
  static const std::string text = fmt::format("OpenJPEG {}", opj_version());
  return text;
}

}  // namespace

std::span<const Descriptor> jpeg2000_descriptors() {
  static const Descriptor all[] = {{.name = "JPEG 2000",
                                    .endings = kEndings,
                                    .matches = matches,
                                    .read_header = read_header,
                                    .decode = decode,
                                    .library = library()}};
  return all;
}

}  // namespace anybit::images
