#include "generate.hpp"

#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "files.hpp"

namespace anybit::cgen {
namespace {

// The file name as a prefix of C names.
std::string c_name(const std::string& stem) {
  std::string name;
  for (const char one : stem) name += std::isalnum(static_cast<unsigned char>(one)) ? one : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name = "m" + name;
  return name;
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) throw Refusal(fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)));
}

// The setting `name` is the prefix of the entries; other settings are rejected.
std::string name_from(const anybit_codegen_options& options, const std::string& stem) {
  std::string name = c_name(stem);
  for (std::size_t i = 0; i < options.setting_count; ++i) {
    const std::string setting = options.setting_names[i];
    if (setting != "name") throw Refusal(fmt::format("c-gen has no setting '{}', only 'name'", setting));
    name = options.setting_texts[i];
    if (name.empty() || name != c_name(name)) throw Refusal(fmt::format("'{}' is not a C identifier", name));
  }
  return name;
}

// The C file must not have the name of another generated file, and its name must fit in an #include.
void check_path(const std::filesystem::path& path) {
  const std::string extension = path.extension().string(), stem = path.stem().string();
  for (const char* other : {".h", ".S", ".bin"}) {
    if (extension == other)
      throw Refusal(
          fmt::format("'{0}' is the C file's path, and c-gen also writes a file {1}{2}: use a path with "
                      "another extension, such as {1}.c",
                      path.filename().string(), stem, other));
  }
  for (const char one : stem) {
    if (one == '"' || one == '\\' || static_cast<unsigned char>(one) < ' ')
      throw Refusal(
          fmt::format("the file's name has a character (0x{:02x}) that no #include can name: use a name "
                      "without \", \\ and control characters",
                      static_cast<unsigned char>(one)));
  }
}

void write_files(const anybit_view& view, const anybit_codegen_options& options,
                 const std::filesystem::path& path) {
  check_path(path);
  const std::string stem = path.stem().string();
  Unit unit(view, options.preference, name_from(options, stem));
  unit.generate();
  const auto beside = [&](const char* extension) {
    return std::filesystem::path(path).replace_extension(extension);
  };
  write(path, source_of(unit, stem));
  write(beside(".h"), header_of(unit));
  if (!has_data_file(unit)) return;
  write(beside(".S"), assembler_of(unit, stem));
  write(beside(".bin"), data_of(unit));
}

}  // namespace

int generate(const anybit_view* view, const anybit_codegen_options* options, const char* path,
             anybit_text* error) {
  std::string message;
  try {
    write_files(*view, *options, path);
    return 0;
  } catch (const std::bad_alloc&) {
    message = "c-gen ran out of memory";
  } catch (const std::exception& problem) {
    message = problem.what();
  }
  error->write(error->target, message.data(), message.size());
  return 1;
}

}  // namespace anybit::cgen
