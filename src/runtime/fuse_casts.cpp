// A Cast to a small float type and the Cast back to float32, as emulated formats write them, become one pass
// over the data.
#include "runtime/edit.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {
namespace {

using ops::ElementType;

ElementType type_of(const Step& cast) {
  using enum ElementType;
  for (const ElementType type :
       {float16, bfloat16, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz}) {
    if (casts_to(cast, type)) return type;
  }
  return undefined;
}

Result<void> run(Program& program, const Resources&) {
  Edit edit(program);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const ElementType type = type_of(program.steps[i]);
    if (type == ElementType::undefined) continue;
    const int behind = edit.only_consumer(program.steps[i].outputs[0]);
    if (behind < 0) continue;
    const auto last = static_cast<std::size_t>(behind);
    if (!casts_to(program.steps[last], ElementType::float32)) continue;
    TRY(edit.replace(i, last, cast_through(*program.steps[i].node, type), program.steps[i].inputs));
  }
  edit.done();
  return {};
}

}  // namespace

std::span<const Descriptor> fuse_casts_descriptors() {
  static const Descriptor all[] = {{.name = "casts",
                                    .order = 16,
                                    .summary = "a Cast to a small float and the Cast back become one pass",
                                    .run = run,
                                    .whom = For::running}};
  return all;
}

}  // namespace anybit::runtime
