// TensorFlow Lite's format and Samsung's variant of it, Circle: flatbuffers with an identifier at byte 4.
#include "tflite/load.hpp"

#include "io/table.hpp"

namespace anybit::io {
namespace {

constexpr std::string_view kTflite = "TFL3", kCircle = "CIR0";

Claim claim(std::span<const std::byte> bytes, std::string_view identifier) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.size() >= 8 && text.substr(4, 4) == identifier ? Claim::sure : Claim::no;
}

Claim probe_tflite(std::span<const std::byte> bytes) { return claim(bytes, kTflite); }
Claim probe_circle(std::span<const std::byte> bytes) { return claim(bytes, kCircle); }

Result<graph::Model> read_tflite(const Bytes& bytes, const std::string&, const LoadOptions& options) {
  return tflite::parse(bytes, kTflite, options);
}
Result<graph::Model> read_circle(const Bytes& bytes, const std::string&, const LoadOptions& options) {
  return tflite::parse(bytes, kCircle, options);
}

}  // namespace

std::span<const Descriptor> tflite_descriptors() {
  static const Descriptor all[] = {{.name = "TensorFlow Lite",
                                    .extension = ".tflite",
                                    .probe = probe_tflite,
                                    .read = read_tflite,
                                    .save = nullptr},
                                   {.name = "Circle",
                                    .extension = ".circle",
                                    .probe = probe_circle,
                                    .read = read_circle,
                                    .save = nullptr}};
  return all;
}

}  // namespace anybit::io
