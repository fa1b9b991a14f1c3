// Mod: the remainder, with the sign of the divisor as in Python, or of the dividend as in C (fmod = 1). ONNX:
// Mod-10, -13.
#include "ops/elementwise/binary_functions.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Dim modulo(const Dim& a, const Dim& b) {
  const bool positive = a.known() && b.known() && *a.size >= 0 && *b.size > 0;
  return positive ? Dim(*a.size % *b.size) : Dim();
}

Result<Values> infer(const Call& call) { return infer_binary(call, modulo); }

struct CRemainder {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return 0;  // lowest / -1 overflows
      }
      return static_cast<T>(a % b);
    } else {
      return std::fmod(a, b);
    }
  }
};
struct PythonRemainder {
  template <class T>
  T operator()(T a, T b) const {
    const T rest = CRemainder()(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
  }
};

Result<void> run(Frame& frame) {
  const ElementType type = frame.in(0).type();
  const bool like_c = frame.flag("fmod");
  BinaryRow row = nullptr;
  for_number(type, [&]<class T>(T) {
    row = like_c ? binary_row<T, T, CRemainder> : binary_row<T, T, PythonRemainder>;
  });
  if (!row) return wrong_type(frame, 0);
  return run_binary(frame, 0, 1, type, row, 5);
}

}  // namespace

std::span<const Descriptor> mod_descriptors() {
  static const Descriptor all[] = {
      {.name = "Mod", .domain = "", .since = {10, 13}, .infer = infer, .run = run, .required = 2}};
  return all;
}

}  // namespace anybit::ops
