// The only exported symbol of libverilog-gen.so.
#include "generate.hpp"

extern "C" __attribute__((visibility("default"))) const anybit_codegen_plugin* anybit_codegen_entry(void) {
  static const anybit_codegen_plugin plugin = {.abi = ANYBIT_CODEGEN_ABI,
                                               .name = "verilog-gen",
                                               .extension = ".v",
                                               .summary = "synthesizable Verilog-2005 with a test bench",
                                               .view = ANYBIT_VIEW_FUSED,
                                               .generate = anybit::verilog::generate,
                                               .load = nullptr,
                                               .run = nullptr,
                                               .unload = nullptr,
                                               .backend = nullptr};
  return &plugin;
}
