// Quantized weights that no integer operator took become floats: the fusions that follow see constants.
#include "runtime/fold.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {
namespace {

Result<void> run(Program& program, const Resources& resources) {
  fold_constants(program, resources, Fold::all);
  return {};
}

}  // namespace

std::span<const Descriptor> fuse_weights_descriptors() {
  static const Descriptor all[] = {{.name = "weights",
                                    .order = 14,
                                    .summary = "other quantized weights become floats once",
                                    .run = run,
                                    .whom = For::running}};
  return all;
}

}  // namespace anybit::runtime
