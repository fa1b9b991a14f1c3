// A generator that throws after a partial write.
#include <fstream>
#include <stdexcept>

#include "anybit/codegen.hpp"

static int generate(const anybit_view*, const anybit_codegen_options*, const char* path, anybit_text*) {
  std::ofstream(path) << "half";
  throw std::runtime_error("thrown by the generator");
}

static const anybit_codegen_plugin plugin = {
    ANYBIT_CODEGEN_ABI, "throwing-gen", ".rule", "throws", ANYBIT_VIEW_WRITTEN,
    generate,           nullptr,        nullptr, nullptr};

const anybit_codegen_plugin* anybit_codegen_entry(void) { return &plugin; }
