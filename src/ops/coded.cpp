#include "ops/coded.hpp"

namespace anybit::ops {

Result<std::shared_ptr<const Prepared>> prepare_use(const Setup& setup) {
  auto made = std::make_shared<CodedUse>();
  made->use = TRY(formats::read_use(setup.text("format", "")));
  return std::shared_ptr<const Prepared>(std::move(made));
}

Result<kernels::TensorCodec> codec_for(const Frame& frame, std::span<const std::int64_t> dims) {
  const auto* prepared = frame.prepared<CodedUse>();
  const formats::Use use = prepared ? prepared->use : TRY(formats::read_use(frame.text("format", "")));
  if (use.rank && static_cast<std::size_t>(*use.rank) != dims.size())
    return wrong(fmt::format("a tensor of rank {}", dims.size()), fmt::format("rank {}", *use.rank));
  return kernels::TensorCodec::make(
      use.format, formats::Dims(dims.begin(), dims.end()),
      {.parameters = use.parameters, .grouping = use.grouping, .rounding = use.rounding});
}

}  // namespace anybit::ops
