// PNG by libpng (ISO/IEC 15948). Of 16 bits the upper 8 are used; alpha is dropped; gamma, profiles and all
// other chunks that pixels do not need are skipped.
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <vector>

#include "images/checks.hpp"

namespace anybit::images {
namespace {

constexpr std::string_view kEndings[] = {".png"};
// The maximum compression ratio of deflate: 258 bytes from two 1-bit codes (RFC 1951).
constexpr std::int64_t kMostInflation = 1032;

// libpng reports errors by longjmp. It jumps only within `header` and `pixels`, which have no destructors to
// run; resources belong to this object, and so to the caller's frame.
class Png {
 public:
  explicit Png(File file) : next_(bytes_of(file)), left_(file.size()) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, fail, ignore);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  ~Png() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;

  Result<Header> read_header(File file) {
    if (info_ == nullptr) return error_at(Code::out_of_memory, {}, "libpng has no memory");
    if (!header()) return damaged(message_);
    const std::int64_t bits =
        png_get_bit_depth(png_, info_) * static_cast<std::int64_t>(png_get_channels(png_, info_));
    return Header{png_get_image_height(png_, info_), png_get_image_width(png_, info_),
                  pixels_in(file, kMostInflation * 8) / std::max<std::int64_t>(bits, 1)};
  }
  Result<void> read_pixels(png_bytep* rows, std::size_t row_bytes) {
    if (!pixels(rows, row_bytes)) return damaged(message_);
    return {};
  }

 private:
  bool header() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, this, read);
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_read_info(png_, info_);
    return true;
  }
  bool pixels(png_bytep* rows, std::size_t row_bytes) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    const int type = png_get_color_type(png_, info_);
    if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    if ((type & PNG_COLOR_MASK_COLOR) == 0) {
      png_set_expand_gray_1_2_4_to_8(png_);
      png_set_gray_to_rgb(png_);
    }
    png_set_strip_16(png_);
    png_set_strip_alpha(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    if (png_get_rowbytes(png_, info_) != row_bytes) png_error(png_, "rows of an unknown kind");
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
    return true;
  }

  [[noreturn]] static void fail(png_structp png, png_const_charp message) {
    std::snprintf(static_cast<Png*>(png_get_error_ptr(png))->message_, kLongest, "%s", message);
    png_longjmp(png, 1);
  }
  static void ignore(png_structp, png_const_charp) {}
  static void read(png_structp png, png_bytep to, std::size_t size) {
    Png& self = *static_cast<Png*>(png_get_io_ptr(png));
    if (size > self.left_) png_error(png, "the file is cut off");
    std::memcpy(to, self.next_, size);
    self.next_ += size;
    self.left_ -= size;
  }

  static constexpr std::size_t kLongest = 200;
  const std::uint8_t* next_;
  std::size_t left_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  char message_[kLongest] = {};
};

bool matches(File file) { return starts_with(file, "\x89PNG\r\n\x1a\n"); }

Result<Header> read_header(File file) { return Png(file).read_header(file); }

Result<void> decode(File file, const Header& header, std::uint8_t* rgb) {
  Png png(file);
  TRY(png.read_header(file));
  const auto row_bytes = static_cast<std::size_t>(3 * header.width);
  std::vector<png_bytep> rows(static_cast<std::size_t>(header.height));
  for (std::size_t y = 0; y < rows.size(); ++y) rows[y] = rgb + y * row_bytes;
  return png.read_pixels(rows.data(), row_bytes);
}

}  // namespace

std::span<const Descriptor> png_descriptors() {
  static const Descriptor all[] = {{.name = "PNG",
                                    .endings = kEndings,
                                    .matches = matches,
                                    .read_header = read_header,
                                    .decode = decode,
                                    .library = "libpng " PNG_LIBPNG_VER_STRING}};
  return all;
}

}  // namespace anybit::images
