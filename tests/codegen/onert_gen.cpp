// A generator as its authors write it for onert, for tests: the file is the model's bytes after a line with
// the model's path. With ONERT_FAILS, codegen fails after half of its work.
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>

#include "ICodegen.h"

#if defined(RENAMED)
#define create_codegen RENAMED
#elif defined(NO_DESTROY)
#define destroy_codegen NO_DESTROY
#endif

namespace {

class Generator : public onert::odc::ICodegen {
 public:
  int codegen(const char* in, const char* out) const override {
    std::ofstream file(out, std::ios::binary);
    file << in << '\n';
    const char* const how = std::getenv("ONERT_FAILS");
    if (how && std::string(how) == "throws") throw std::runtime_error("not for me");
    if (how) return std::atoi(how);
    file << std::ifstream(in, std::ios::binary).rdbuf();
    return file.good() ? 0 : 1;
  }
};

}  // namespace

extern "C" onert::odc::ICodegen* create_codegen() {
  return std::getenv("ONERT_NOTHING") ? nullptr : new Generator();
}
extern "C" void destroy_codegen(onert::odc::ICodegen* generator) { delete generator; }
