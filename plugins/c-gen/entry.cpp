// The only exported symbol of libc-gen.so.
#include "generate.hpp"

extern "C" __attribute__((visibility("default"))) const anybit_codegen_plugin* anybit_codegen_entry(void) {
  static const anybit_codegen_plugin plugin = {.abi = ANYBIT_CODEGEN_ABI,
                                               .name = "c-gen",
                                               .extension = ".c",
                                               .summary = "portable C99 with static memory",
                                               .view = ANYBIT_VIEW_FUSED,
                                               .generate = anybit::cgen::generate,
                                               .load = nullptr,
                                               .run = nullptr,
                                               .unload = nullptr,
                                               .backend = nullptr};
  return &plugin;
}
