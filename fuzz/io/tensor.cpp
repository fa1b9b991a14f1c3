// Bytes → a single tensor (.pb), or a model whose external data may lie in the file 'w'. The first byte
// chooses.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "../require.hpp"
#include "io/onnx/load.hpp"
#include "io/onnx/save.hpp"
#include "io/onnx/tensor_file.hpp"

namespace {

using namespace anybit;

// A temporary folder that contains one file with known content.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "anybit-fuzz-XXXXXX").string();
    require(mkdtemp(pattern.data()) != nullptr, "no temporary folder");
    path_ = pattern;
    std::FILE* file = std::fopen(data().c_str(), "wb");
    require(file != nullptr, "no file in it");
    for (int i = 0; i < kSize; ++i) std::fputc(i, file);
    std::fclose(file);
  }
  ~Folder() {
    std::remove(data().c_str());
    rmdir(path_.c_str());
  }
  const std::string& path() const { return path_; }
  std::string data() const { return path_ + "/w"; }
  static constexpr int kSize = 4096;

 private:
  std::string path_;
};

void check_tensor(const std::string& bytes) {
  const auto tensor = onnx::parse_tensor(Bytes::own(bytes));
  if (!tensor.ok()) {
    require(!tensor.error().message.empty(), "an error without a message");
    return;
  }
  std::size_t sum = 0;  // reads every byte
  for (const std::byte one : tensor->data.span()) sum += std::to_integer<std::size_t>(one);
  require(sum <= 255 * tensor->data.size(), "invalid bytes");
}

void check_model(const std::string& bytes) {
  static const Folder folder;
  const auto model = onnx::parse(Bytes::own(bytes), folder.path());
  if (!model.ok()) {
    require(!model.error().message.empty(), "an error without a message");
    return;
  }
  const auto saved = onnx::serialize(*model);
  require(saved, "a model with external data must save");
  require(onnx::parse(Bytes::own(*saved)), "a model with its data inside must load");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) {
    check_tensor(bytes);
  } else {
    check_model(bytes);
  }
  return 0;
}
