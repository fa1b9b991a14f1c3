// Packed weights that no product takes as they are become floats: the fusions that follow see constants.
#include "runtime/fold.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {
namespace {

Result<void> run(Program& program, const Resources& resources) {
  fold_constants(program, resources, Fold::all_but_dequantized);
  return {};
}

}  // namespace

std::span<const Descriptor> fuse_decode_descriptors() {
  static const Descriptor all[] = {{.name = "decode",
                                    .order = 8,
                                    .summary = "other packed weights are decoded once",
                                    .run = run,
                                    .whom = For::running}};
  return all;
}

}  // namespace anybit::runtime
