// TIFF 6.0 and BigTIFF by libtiff, the first image of the file: gray, palette, RGB, CMYK, and YCbCr in JPEG;
// unsigned, 1 to 16 bits, of which the upper 8 are used. libtiff decodes strips and tiles; this file converts
// their samples to pixels.
#include <tiffio.h>

#include <array>
#include <vector>

#include "images/checks.hpp"

namespace anybit::images {
namespace {

constexpr std::string_view kEndings[] = {".tif", ".tiff"};
constexpr tmsize_t kMostMemory = tmsize_t{1} << 30;

struct Kind {
  std::uint16_t compression;
  std::int64_t inflation;  // maximum bytes decompressed from one byte
};
// The compression methods of common images. libtiff has more; they would expose more code to untrusted files.
constexpr Kind kKinds[] = {
    {COMPRESSION_NONE, 1},       {COMPRESSION_LZW, 4096},    {COMPRESSION_ADOBE_DEFLATE, 1032},
    {COMPRESSION_DEFLATE, 1032}, {COMPRESSION_PACKBITS, 64}, {COMPRESSION_JPEG, 3 * 1024}};

struct TiffLayout {
  std::uint32_t width = 0, height = 0;
  std::uint16_t bits = 1, samples = 1, photometric = 0, planar = PLANARCONFIG_CONTIG, orientation = 1;
  std::uint16_t compression = COMPRESSION_NONE;
  std::int64_t inflation = 1;
  bool premultiplied = false;
  const std::uint16_t* palette[3] = {};

  std::size_t colours() const {
    if (photometric == PHOTOMETRIC_SEPARATED) return 4;
    return photometric == PHOTOMETRIC_RGB || photometric == PHOTOMETRIC_YCBCR ? 3 : 1;
  }
  bool turned() const { return orientation >= 5; }
};

class Tiff {
 public:
  explicit Tiff(File file) : file_(file) {
    TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
    if (options == nullptr) return;
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, kMostMemory);
    TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, this);
    TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, this);
    tiff_ = TIFFClientOpenExt("image", "r", this, read, write, seek, close, size, map, unmap, options);
    TIFFOpenOptionsFree(options);
  }
  ~Tiff() {
    if (tiff_ != nullptr) TIFFClose(tiff_);
  }
  Tiff(const Tiff&) = delete;
  Tiff& operator=(const Tiff&) = delete;

  Result<TiffLayout> read_layout();
  Result<void> read_pixels(const TiffLayout& layout, std::uint8_t* rgb);

 private:
  // A strip or a tile of `rows` by `columns` samples; only those within the image are used.
  struct Part {
    std::uint32_t index = 0, x = 0, y = 0, columns, rows;
    std::size_t row_bytes = 0, plane = 0;  // plane: parts per sample, with separate planes
  };
  Result<void> read_part(const TiffLayout& layout, const Part& part, std::uint8_t* rgb);
  Error failed(const char* otherwise) const { return damaged(message_[0] != 0 ? message_ : otherwise); }

  void keep(const char* format, va_list arguments) {
    if (message_[0] == 0) std::vsnprintf(message_, sizeof message_, format, arguments);
  }
  static int on_error(TIFF*, void* self, const char*, const char* format, va_list arguments) {
    static_cast<Tiff*>(self)->keep(format, arguments);
    return 1;
  }
  // Unknown tags are common and harmless. A warning while pixels are decoded means that some are missing.
  static int on_warning(TIFF*, void* self, const char*, const char* format, va_list arguments) {
    Tiff& tiff = *static_cast<Tiff*>(self);
    if (tiff.in_pixels_) tiff.keep(format, arguments);
    return 1;
  }
  static tmsize_t read(thandle_t self, void* to, tmsize_t size) {
    Tiff& tiff = *static_cast<Tiff*>(self);
    const std::uint64_t left = tiff.at_ < tiff.file_.size() ? tiff.file_.size() - tiff.at_ : 0;
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(left, static_cast<std::uint64_t>(size)));
    if (count > 0) std::memcpy(to, tiff.file_.data() + tiff.at_, count);
    tiff.at_ += count;
    return static_cast<tmsize_t>(count);
  }
  static tmsize_t write(thandle_t, void*, tmsize_t) { return 0; }
  static toff_t seek(thandle_t self, toff_t to, int whence) {
    Tiff& tiff = *static_cast<Tiff*>(self);
    const std::uint64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? tiff.at_ : tiff.file_.size();
    return tiff.at_ = from + to;
  }
  static int close(thandle_t) { return 0; }
  static toff_t size(thandle_t self) { return static_cast<Tiff*>(self)->file_.size(); }
  static int map(thandle_t, void**, toff_t*) { return 0; }
  static void unmap(thandle_t, void*, toff_t) {}

  File file_;
  std::uint64_t at_ = 0;
  TIFF* tiff_ = nullptr;
  bool in_pixels_ = false;
  std::vector<std::uint8_t> buffer_;
  char message_[200] = {};
};

Result<void> check(TIFF* tiff, TiffLayout& layout) {
  const auto kind = std::ranges::find(kKinds, layout.compression, &Kind::compression);
  if (kind == std::end(kKinds)) {
    const TIFFCodec* codec = TIFFFindCODEC(layout.compression);
    return unsupported(fmt::format("compression by {} is not read",
                                   codec != nullptr ? codec->name : std::to_string(layout.compression)),
                       "none, LZW, Deflate, PackBits or JPEG");
  }
  layout.inflation = kind->inflation;
  const bool jpeg = layout.compression == COMPRESSION_JPEG;
  switch (layout.photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_RGB:
    case PHOTOMETRIC_SEPARATED:
      break;
    case PHOTOMETRIC_PALETTE: {
      std::uint16_t* palette[3] = {};
      if (layout.bits > 8 || TIFFGetField(tiff, TIFFTAG_COLORMAP, &palette[0], &palette[1], &palette[2]) != 1)
        return damaged("it has no palette");
      std::ranges::copy(palette, layout.palette);
      break;
    }
    case PHOTOMETRIC_YCBCR:
      if (jpeg && layout.planar == PLANARCONFIG_CONTIG) {
        TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
        break;
      }
      [[fallthrough]];
    default:
      return unsupported(fmt::format("colours of kind {} are not read", layout.photometric),
                         "gray, palette, RGB or CMYK");
  }
  const std::array<std::uint16_t, 5> known = {1, 2, 4, 8, 16};
  if (std::ranges::find(known, layout.bits) == known.end() || (jpeg && layout.bits != 8) ||
      (layout.bits < 8 && layout.samples != 1)) {
    return unsupported(fmt::format("{} samples of {} bits are not read", layout.samples, layout.bits),
                       "8 or 16 bits");
  }
  if (layout.samples < layout.colours() || layout.samples > 16)
    return damaged(fmt::format("{} samples for a pixel are not possible", layout.samples));
  return {};
}

Result<TiffLayout> Tiff::read_layout() {
  if (tiff_ == nullptr) return failed("the file is damaged");
  TiffLayout layout;
  std::uint16_t format = SAMPLEFORMAT_UINT, extra_count = 0;
  std::uint16_t* extra = nullptr;
  if (TIFFGetField(tiff_, TIFFTAG_IMAGEWIDTH, &layout.width) != 1 ||
      TIFFGetField(tiff_, TIFFTAG_IMAGELENGTH, &layout.height) != 1) {
    return damaged("it has no size");
  }
  TIFFGetFieldDefaulted(tiff_, TIFFTAG_BITSPERSAMPLE, &layout.bits);
  TIFFGetFieldDefaulted(tiff_, TIFFTAG_SAMPLESPERPIXEL, &layout.samples);
  TIFFGetFieldDefaulted(tiff_, TIFFTAG_PLANARCONFIG, &layout.planar);
  TIFFGetFieldDefaulted(tiff_, TIFFTAG_ORIENTATION, &layout.orientation);
  TIFFGetFieldDefaulted(tiff_, TIFFTAG_COMPRESSION, &layout.compression);
  TIFFGetFieldDefaulted(tiff_, TIFFTAG_SAMPLEFORMAT, &format);
  TIFFGetFieldDefaulted(tiff_, TIFFTAG_EXTRASAMPLES, &extra_count, &extra);
  TIFFGetField(tiff_, TIFFTAG_PHOTOMETRIC, &layout.photometric);
  if (format != SAMPLEFORMAT_UINT) return unsupported("samples are not unsigned integers");
  if (layout.orientation < 1 || layout.orientation > 8) layout.orientation = 1;
  layout.premultiplied = extra_count > 0 && extra[0] == EXTRASAMPLE_ASSOCALPHA;
  TRY(check(tiff_, layout));
  return layout;
}

// A sample of a row: of 16 bits the upper 8, of fewer than 8 unchanged.
std::uint8_t sample_at(const TiffLayout& layout, const std::uint8_t* row, std::size_t index) {
  if (layout.bits == 8) return row[index];
  if (layout.bits == 16) {
    std::uint16_t sample;
    std::memcpy(&sample, row + 2 * index, sizeof sample);  // libtiff has converted it to native byte order
    return static_cast<std::uint8_t>(sample >> 8);
  }
  const std::size_t bit = index * layout.bits;
  return static_cast<std::uint8_t>(row[bit / 8] >> (8 - layout.bits - bit % 8) & ((1 << layout.bits) - 1));
}

void to_rgb(const TiffLayout& layout, std::array<std::uint8_t, 5> samples, std::uint8_t* rgb) {
  const std::size_t colours = layout.colours();
  if (layout.photometric == PHOTOMETRIC_PALETTE) {
    for (std::size_t c = 0; c < 3; ++c)
      rgb[c] = static_cast<std::uint8_t>(layout.palette[c][samples[0]] >> 8);
    return;
  }
  if (layout.photometric == PHOTOMETRIC_SEPARATED) return cmyk_to_rgb(samples.data(), rgb);
  if (layout.bits < 8) samples[0] = static_cast<std::uint8_t>(samples[0] * 255 / ((1 << layout.bits) - 1));
  if (layout.photometric == PHOTOMETRIC_MINISWHITE) samples[0] = static_cast<std::uint8_t>(255 - samples[0]);
  for (std::size_t c = 0; c < 3; ++c) {
    const int value = samples[std::min(c, colours - 1)], alpha = samples[colours];
    if (!layout.premultiplied) {
      rgb[c] = static_cast<std::uint8_t>(value);
    } else {
      rgb[c] = static_cast<std::uint8_t>(alpha == 0 ? 0 : std::min(255, value * 255 / alpha));
    }
  }
}

// The output index of the pixel at x, y of the file (TIFF 6.0, Orientation).
std::size_t place_of(const TiffLayout& layout, std::size_t x, std::size_t y) {
  const bool mirror_x = layout.orientation == 2 || layout.orientation == 3 || layout.orientation == 7 ||
                        layout.orientation == 8;
  const bool mirror_y = layout.orientation == 3 || layout.orientation == 4 || layout.orientation == 6 ||
                        layout.orientation == 7;
  if (mirror_x) x = layout.width - 1 - x;
  if (mirror_y) y = layout.height - 1 - y;
  return layout.turned() ? x * layout.height + y : y * layout.width + x;
}

Result<void> Tiff::read_part(const TiffLayout& layout, const Part& part, std::uint8_t* rgb) {
  const bool planar = layout.planar == PLANARCONFIG_SEPARATE && layout.samples > 1;
  const std::size_t planes = planar ? layout.samples : 1, bytes = part.row_bytes * part.rows;
  const std::size_t width = std::min(part.columns, layout.width - part.x),
                    height = std::min(part.rows, layout.height - part.y);
  buffer_.assign(bytes * planes, 0);
  for (std::size_t p = 0; p < planes; ++p) {
    // The last strip may be cut at the image's end; a tile is always complete.
    const bool tiled = TIFFIsTiled(tiff_) != 0;
    const std::size_t wanted = tiled ? bytes : part.row_bytes * height;
    const auto index = part.index + static_cast<std::uint32_t>(p * part.plane);
    std::uint8_t* to = buffer_.data() + p * bytes;
    const tmsize_t got = tiled ? TIFFReadEncodedTile(tiff_, index, to, static_cast<tmsize_t>(wanted))
                               : TIFFReadEncodedStrip(tiff_, index, to, static_cast<tmsize_t>(wanted));
    if (got < 0 || static_cast<std::size_t>(got) != wanted || message_[0] != 0)
      return failed("the file is cut off");
  }
  const std::size_t step = planar ? 1 : layout.samples, needed = std::min<std::size_t>(layout.samples, 5);
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      std::array<std::uint8_t, 5> samples = {};
      for (std::size_t s = 0; s < needed; ++s) {
        const std::uint8_t* row = buffer_.data() + (planar ? s * bytes : 0) + y * part.row_bytes;
        samples[s] = sample_at(layout, row, x * step + (planar ? 0 : s));
      }
      to_rgb(layout, samples, rgb + 3 * place_of(layout, part.x + x, part.y + y));
    }
  }
  return {};
}

Result<void> Tiff::read_pixels(const TiffLayout& layout, std::uint8_t* rgb) {
  in_pixels_ = true;
  const bool planar = layout.planar == PLANARCONFIG_SEPARATE && layout.samples > 1;
  const std::size_t bits = std::size_t{layout.bits} * (planar ? 1 : layout.samples);
  Part part{.columns = layout.width, .rows = layout.height};
  const bool tiled = TIFFIsTiled(tiff_) != 0;
  if (tiled) {
    TIFFGetField(tiff_, TIFFTAG_TILEWIDTH, &part.columns);
    TIFFGetField(tiff_, TIFFTAG_TILELENGTH, &part.rows);
  } else {
    TIFFGetFieldDefaulted(tiff_, TIFFTAG_ROWSPERSTRIP, &part.rows);
    part.rows = std::min(part.rows, layout.height);
  }
  // Rejects tiles much larger than the image: they only cost memory.
  constexpr std::uint32_t kSmall = 4096;
  if (part.columns == 0 || part.rows == 0 || part.columns > std::max(layout.width, kSmall) + 15 ||
      part.rows > std::max(layout.height, kSmall) + 15) {
    return damaged(fmt::format("parts of {} x {} pixels are not possible", part.columns, part.rows));
  }
  part.row_bytes = (part.columns * bits + 7) / 8;
  const auto size = static_cast<std::uint64_t>(tiled ? TIFFTileRowSize(tiff_) : TIFFScanlineSize(tiff_));
  if (size != part.row_bytes) return unsupported("its rows are laid out in a way that is not read");
  const std::uint32_t across = (layout.width - 1) / part.columns + 1,
                      down = (layout.height - 1) / part.rows + 1;
  part.plane = std::size_t{across} * down;
  for (std::uint32_t j = 0; j < down; ++j) {
    for (std::uint32_t i = 0; i < across; ++i, ++part.index) {
      part.x = i * part.columns;
      part.y = j * part.rows;
      TRY(read_part(layout, part, rgb));
    }
  }
  return {};
}

bool matches(File file) {
  using namespace std::string_view_literals;
  return starts_with(file, "II*\0"sv) || starts_with(file, "MM\0*"sv) || starts_with(file, "II+\0"sv) ||
         starts_with(file, "MM\0+"sv);
}

Result<Header> read_header(File file) {
  const TiffLayout layout = TRY(Tiff(file).read_layout());
  const Header header{layout.height, layout.width,
                      pixels_in(file, 8 * layout.inflation) / (layout.bits * layout.samples)};
  return layout.turned() ? Header{header.width, header.height, header.most_pixels} : header;
}

Result<void> decode(File file, const Header&, std::uint8_t* rgb) {
  Tiff tiff(file);
  const TiffLayout layout = TRY(tiff.read_layout());
  return tiff.read_pixels(layout, rgb);
}

// The name and version, from "LIBTIFF, Version 4.5.0\nCopyright …".
std::string_view library() {
  static const std::string text = [] {
    const std::string_view told = TIFFGetVersion();
    const std::size_t at = told.find("Version "), end = told.find('\n');
    return at == told.npos ? "libtiff" : fmt::format("libtiff {}", told.substr(at + 8, end - at - 8));
  }();
  return text;
}

}  // namespace

std::span<const Descriptor> tiff_descriptors() {
  static const Descriptor all[] = {{.name = "TIFF",
                                    .endings = kEndings,
                                    .matches = matches,
                                    .read_header = read_header,
                                    .decode = decode,
                                    .library = library()}};
  return all;
}

}  // namespace anybit::images
