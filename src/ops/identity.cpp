// Identity and Dropout: at inference both hand their input on, contents included.
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer_identity(const Call& call) { return outputs_of(call, call.in(0)); }

// The mask was of the data's type until version 10.
Result<Values> infer_dropout(const Call& call) {
  Values values = outputs_of(call, tensor(call.in(0).type, call.in(0).shape));
  if (values.size() > 1) {
    values[1] = tensor(call.version < 10 ? call.in(0).type : ElementType::boolean, call.in(0).shape);
  }
  return values;
}

Result<void> run_identity(Frame& frame) {
  if (!frame.datum(0).is_array()) return frame.set(0, frame.datum(0));
  return frame.share(0, 0, frame.in(0).dims());
}

}  // namespace

std::span<const Descriptor> identity_descriptors() {
  static const Descriptor all[] = {
      {.name = "Identity",
       .domain = "",
       .since = {1, 13, 14, 16, 19, 21, 23, 24, 25},
       .infer = infer_identity,
       .run = run_identity},
      {.name = "Dropout", .domain = "", .since = {1, 6, 7, 10, 12, 13, 22}, .infer = infer_dropout},
  };
  return all;
}

}  // namespace anybit::ops
