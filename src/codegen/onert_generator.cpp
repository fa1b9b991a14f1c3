#include "codegen/onert_generator.hpp"

#include <dlfcn.h>

#include "base/error.hpp"
#include "codegen/plugin.hpp"

namespace anybit::codegen {

OnertGenerator::OnertGenerator(void* library)
    : create_(reinterpret_cast<decltype(create_)>(dlsym(library, "create_codegen"))),
      destroy_(reinterpret_cast<decltype(destroy_)>(dlsym(library, "destroy_codegen"))) {}

Result<void> OnertGenerator::generate(const std::string& name, const std::string& model,
                                      const std::string& path) const {
  Said said;
  onert::odc::ICodegen* generator = nullptr;
  int result = 0;
  const bool created = called(said, [&] { generator = create_(); });
  if (!created || !generator) return said.error(name, "create_codegen returned nothing");
  const bool returned = called(said, [&] { result = generator->codegen(model.c_str(), path.c_str()); });
  const bool destroyed = called(said, [&] { destroy_(generator); });
  if (!returned || !destroyed || result != 0)
    return said.error(name, fmt::format("codegen failed with {}", result));
  return {};
}

}  // namespace anybit::codegen
