#include "text_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace anybit::cli {

Result<void> write_text(const std::string& path, const std::string& text) {
  const std::string temporary = fmt::format("{}.{}.part", path, ::getpid());
  std::ofstream file(temporary, std::ios::binary);
  file << text;
  file.close();
  std::error_code code;
  if (file.good()) std::filesystem::rename(temporary, path, code);
  if (file.good() && !code) return {};
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  return Error{Code::io,
               fmt::format("cannot write '{}': {}", path, code ? code.message() : std::strerror(errno)),
               {},
               {}};
}

}  // namespace anybit::cli
