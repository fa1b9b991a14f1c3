#include "generate.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "bench.hpp"
#include "logic.hpp"

namespace anybit::verilog {
namespace {

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) throw Refusal(fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)));
}

void write_files(const anybit_view& view, const anybit_codegen_options& options,
                 const std::filesystem::path& path) {
  const std::string stem = path.stem().string();
  const Settings settings = settings_of(options, stem);
  if (path.extension() == ".hex")
    throw Refusal("verilog-gen writes .hex files beside the Verilog: use a path that ends in .v");
  for (const char one : stem) {
    if (one == '"' || one == '\\' || static_cast<unsigned char>(one) < ' ')
      throw Refusal(
          "verilog-gen: the file's name has a character that no text of Verilog can hold: use a name without "
          "\", \\ and control characters");
  }
  Design design = design_of(view, settings);
  const auto beside = [&](const std::string& end) { return path.parent_path() / (stem + end); };
  design.device.files = stem;
  write(path, design.text);
  const Vectors vectors = make_vectors(view, settings, design.input, design.output);
  if (vectors.inputs.empty()) return;
  write(beside("_tb.v"), bench_of(design.device, vectors.inputs.size()));
  write(beside("_inputs.hex"), input_lines(design.device, vectors));
  write(beside("_expected.hex"), expected_lines(design.device, vectors));
}

}  // namespace

int generate(const anybit_view* view, const anybit_codegen_options* options, const char* path,
             anybit_text* error) {
  std::string message;
  try {
    write_files(*view, *options, path);
    return 0;
  } catch (const std::bad_alloc&) {
    message = "verilog-gen ran out of memory";
  } catch (const std::exception& problem) {
    message = problem.what();
  }
  error->write(error->target, message.data(), message.size());
  return 1;
}

}  // namespace anybit::verilog
