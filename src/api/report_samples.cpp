#include "api/report_samples.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace anybit {
namespace {

using Json = nlohmann::ordered_json;

// RFC 4648, section 4.
std::string base64(const std::vector<std::uint8_t>& bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t given = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) group = group << 8 | (i < given ? bytes[at + i] : 0U);
    for (std::size_t i = 0; i < 4; ++i) text += i <= given ? kLetters[group >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

}  // namespace

Json worst_samples_json(const std::vector<SampleError>& samples) {
  Json list = Json::array();
  for (const SampleError& one : samples) {
    Json row = {{"sample", one.sample}, {"sqnr_db", one.sqnr}};
    if (one.thumbnail.channels > 0)
      row["thumbnail"] = {{"width", one.thumbnail.width},
                          {"height", one.thumbnail.height},
                          {"channels", one.thumbnail.channels},
                          {"pixels", base64(one.thumbnail.pixels)}};
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace anybit
