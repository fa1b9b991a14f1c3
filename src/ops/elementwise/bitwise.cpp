// BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot, BitShift on integers. ONNX: Bitwise*-18, BitShift-11.
#include "ops/elementwise/broadcast.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) { return infer_binary(call, nullptr); }

struct And {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
// A shift by the width of the type or more gives 0.
struct Left {
  template <class T>
  T operator()(T a, T b) const {
    return b >= 8 * sizeof(T) ? T(0) : static_cast<T>(static_cast<std::uint64_t>(a) << b);
  }
};
struct Right {
  template <class T>
  T operator()(T a, T b) const {
    return b >= 8 * sizeof(T) ? T(0) : static_cast<T>(a >> b);
  }
};

template <class F>
Result<void> run(Frame& frame) {
  const ElementType type = frame.in(0).type();
  BinaryRow row = nullptr;
  for_integer(type, [&]<class T>(T) { row = binary_row<T, T, F>; });
  if (!row) return wrong_type(frame, 0);
  return run_binary(frame, 0, 1, type, row);
}

Result<void> run_shift(Frame& frame) {
  const ElementType type = frame.in(0).type();
  const std::string_view direction = frame.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return wrong(fmt::format("direction is '{}'", direction), "LEFT or RIGHT");
  BinaryRow row = nullptr;
  for_integer(type, [&]<class T>(T) {
    if constexpr (std::is_unsigned_v<T>)
      row = direction == "LEFT" ? binary_row<T, T, Left> : binary_row<T, T, Right>;
  });
  if (!row) return wrong_type(frame, 0);
  return run_binary(frame, 0, 1, type, row);
}

Result<void> run_not(Frame& frame) {
  const Array& in = frame.in(0);
  if (!for_integer(in.type(), [](auto) {})) return wrong_type(frame, 0);
  Array* out = TRY(frame.out_over(0, 0, in.type(), in.dims()));
  for_integer(in.type(), [&]<class T>(T) {
    std::ranges::transform(in.elements<T>(), out->mutable_data<T>(), [](T x) { return static_cast<T>(~x); });
  });
  return {};
}

constexpr Descriptor bits(std::string_view name, Run run) {
  return {.name = name, .domain = "", .since = {18}, .infer = infer, .run = run, .required = 2};
}

}  // namespace

std::span<const Descriptor> bitwise_descriptors() {
  static const Descriptor all[] = {
      bits("BitwiseAnd", run<And>),
      bits("BitwiseOr", run<Or>),
      bits("BitwiseXor", run<Xor>),
      {.name = "BitwiseNot", .domain = "", .since = {18}, .infer = infer_same, .run = run_not},
      {.name = "BitShift", .domain = "", .since = {11}, .infer = infer, .run = run_shift, .required = 2},
  };
  return all;
}

}  // namespace anybit::ops
