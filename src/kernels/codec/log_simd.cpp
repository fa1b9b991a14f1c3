// SIMD twin of formats/log.cpp.
#include "formats/log.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/codec/log_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/codec/log_element-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

void RoundLog(const formats::LogLayout& layout, const float* x, std::size_t n, float* out) {
  RoundRun(LogElement(layout), Multiply(), x, n, 1, 1, out);
}

void CodeLog(const formats::LogLayout& layout, const float* x, std::size_t n, CodesOut codes) {
  CodeRun(LogElement(layout), Multiply(), x, n, 1, codes);
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/codec/table_decode.hpp"
#include "kernels/table.hpp"

namespace anybit::kernels {
namespace {

HWY_EXPORT(RoundLog);
HWY_EXPORT(CodeLog);

class LogKernel final : public GroupKernel {
 public:
  explicit LogKernel(const formats::LogCodec& codec) : layout_(codec.layout()), table_(codec, {}) {}

  void choose(const Groups&, const float*, std::uint32_t*) const override {}
  void quantize(const Groups& shape, const float* x, const std::uint32_t*, const std::uint32_t*,
                float* out) const override {
    HWY_DYNAMIC_DISPATCH(RoundLog)(layout_, x, shape.count(), out);
  }
  void encode(const Groups& shape, const float* x, const std::uint32_t*, const std::uint32_t*,
              CodesOut codes) const override {
    HWY_DYNAMIC_DISPATCH(CodeLog)(layout_, x, shape.count(), codes);
  }
  void decode(const Groups& shape, CodesIn codes, const std::uint32_t*, float* out) const override {
    table_.run(codes, shape.count(), 1, out);
  }

 private:
  formats::LogLayout layout_;
  DecodeTable table_;
};

std::unique_ptr<const GroupKernel> make(const std::shared_ptr<const formats::Codec>& codec) {
  const auto* log = dynamic_cast<const formats::LogCodec*>(codec.get());
  if (log == nullptr || log->bits() > 8 || log->layout().bias > 126) return nullptr;
  return std::make_unique<const LogKernel>(*log);
}

}  // namespace

std::span<const Descriptor> log_simd_descriptors() {
  static const Descriptor all[] = {{.name = "log", .kernel = GroupCodec{make}}};
  return all;
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
