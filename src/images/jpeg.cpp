// JPEG by libjpeg-turbo (ITU-T T.81): baseline and progressive, with the accurate integer DCT and fancy
// upsampling. Data that libjpeg only warns about, such as a truncated file, is an error here.
#include <cstddef>
#include <cstdio>
// Needs the two above.
#include <jerror.h>
#include <jpeglib.h>

#include <csetjmp>
#include <vector>

#include "images/checks.hpp"

namespace anybit::images {
namespace {

constexpr std::string_view kEndings[] = {".jpg", ".jpeg"};
// A block of 8 x 8 takes at least one bit, and chroma subsampling may halve the number of blocks.
constexpr std::int64_t kMostPixelsPerByte = 8 * 128;
constexpr int kMostScans = 64;  // encoders write about 10; each costs a pass over the whole image

// libjpeg reports errors by longjmp. It jumps only within `header` and `pixels`, which have no destructors to
// run; resources belong to this object, and so to the caller's frame.
class Jpeg {
 public:
  explicit Jpeg(File file) : file_(file) {
    info_.err = jpeg_std_error(&errors_);
    info_.client_data = this;
    errors_.error_exit = fail;
    errors_.emit_message = warn;
    errors_.output_message = [](j_common_ptr) {};
    progress_.progress_monitor = count_scans;
  }
  ~Jpeg() { jpeg_destroy_decompress(&info_); }
  Jpeg(const Jpeg&) = delete;
  Jpeg& operator=(const Jpeg&) = delete;

  Result<Header> read_header() {
    if (!header()) return damaged(message_);
    const J_COLOR_SPACE space = info_.jpeg_color_space;
    if (info_.num_components == 2 || space == JCS_UNKNOWN)
      return unsupported(fmt::format("{} components are not read", info_.num_components), "1, 3 or 4");
    if (info_.arith_code) return unsupported("arithmetic coding is not read", "Huffman coding");
    return Header{info_.image_height, info_.image_width, pixels_in(file_, kMostPixelsPerByte)};
  }
  Result<void> read_pixels(std::uint8_t* rgb, std::uint8_t* inks) {
    if (!pixels(rgb, inks)) return damaged(message_);
    return {};
  }
  bool has_inks() const { return info_.num_components == 4; }

 private:
  bool header() {
    if (setjmp(jump_) != 0) return false;
    jpeg_create_decompress(&info_);
    info_.progress = &progress_;
    jpeg_mem_src(&info_, bytes_of(file_), file_.size());
    jpeg_read_header(&info_, TRUE);
    return true;
  }
  // `inks`: room for a row of CMYK, if the image has four channels.
  bool pixels(std::uint8_t* rgb, std::uint8_t* inks) {
    if (setjmp(jump_) != 0) return false;
    info_.out_color_space = inks != nullptr ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(&info_);
    for (int i = 0; i < info_.num_components; ++i) {
      // Set at the beginning of the component's scan.
      if (info_.comp_info[i].quant_table == nullptr) give_up("a component has no data");
    }
    const std::size_t row_bytes = 3 * static_cast<std::size_t>(info_.output_width);
    while (info_.output_scanline < info_.output_height) {
      std::uint8_t* to = rgb + info_.output_scanline * row_bytes;
      std::uint8_t* row = inks != nullptr ? inks : to;
      if (jpeg_read_scanlines(&info_, &row, 1) != 1) give_up("a row is missing");
      if (inks != nullptr) inks_to_rgb(inks, to);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }
  // Inverted, as all programs write CMYK JPEG files.
  void inks_to_rgb(const std::uint8_t* inks, std::uint8_t* rgb) const {
    for (JDIMENSION x = 0; x < info_.output_width; ++x) {
      std::uint8_t cmyk[4];
      for (int c = 0; c < 4; ++c)
        cmyk[c] = static_cast<std::uint8_t>(255 - inks[4 * x + static_cast<JDIMENSION>(c)]);
      cmyk_to_rgb(cmyk, rgb + 3 * x);
    }
  }

  [[noreturn]] void give_up(const char* message) {
    std::snprintf(message_, sizeof message_, "%s", message);
    std::longjmp(jump_, 1);
  }
  [[noreturn]] static void fail(j_common_ptr info) {
    char message[JMSG_LENGTH_MAX];
    info->err->format_message(info, message);
    static_cast<Jpeg*>(info->client_data)->give_up(message);
  }
  static void warn(j_common_ptr info, int level) {
    // Cameras leave bytes between segments, or write another version number: that changes no pixel.
    const int code = info->err->msg_code;
    const bool harmless = code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR;
    if (level < 0 && !harmless) fail(info);
  }
  static void count_scans(j_common_ptr info) {
    if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMostScans)
      static_cast<Jpeg*>(info->client_data)->give_up("it has too many scans");
  }

  File file_;
  jpeg_decompress_struct info_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_progress_mgr progress_ = {};
  std::jmp_buf jump_;
  char message_[JMSG_LENGTH_MAX] = {};
};

bool matches(File file) { return starts_with(file, "\xFF\xD8\xFF"); }

Result<Header> read_header(File file) { return Jpeg(file).read_header(); }

Result<void> decode(File file, const Header& header, std::uint8_t* rgb) {
  Jpeg jpeg(file);
  TRY(jpeg.read_header());
  std::vector<std::uint8_t> inks(jpeg.has_inks() ? static_cast<std::size_t>(4 * header.width) : 0);
  return jpeg.read_pixels(rgb, inks.empty() ? nullptr : inks.data());
}

#define ANYBIT_TEXT_OF(x) #x
#define ANYBIT_TEXT(x) ANYBIT_TEXT_OF(x)

}  // namespace

std::span<const Descriptor> jpeg_descriptors() {
  static const Descriptor all[] = {{.name = "JPEG",
                                    .endings = kEndings,
                                    .matches = matches,
                                    .read_header = read_header,
                                    .decode = decode,
                                    .library = "libjpeg-turbo " ANYBIT_TEXT(LIBJPEG_TURBO_VERSION)}};
  return all;
}

}  // namespace anybit::images
