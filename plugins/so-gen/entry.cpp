// The only exported symbol of libso-gen.so.
#include "loaded.hpp"
#include "shared_object.hpp"

const anybit_codegen_plugin* anybit_codegen_entry(void) {
  static const anybit_codegen_plugin plugin = {
      .abi = ANYBIT_CODEGEN_ABI,
      .name = "so-gen",
      .extension = ".so",
      .summary = "a shared library for this machine, by its C compiler",
      .view = ANYBIT_VIEW_FUSED,
      .generate = anybit::sogen::generate,
      .load = anybit::sogen::load,
      .run = anybit::sogen::run,
      .unload = anybit::sogen::unload,
      .backend = nullptr};
  return &plugin;
}
