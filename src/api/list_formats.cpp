// The public list of formats, from their descriptors.
#include "anybit/formats.hpp"
#include "base/error.hpp"
#include "base/guard.hpp"
#include "base/try.hpp"
#include "formats/table.hpp"
#include "kernels/codec/stored_fields.hpp"

namespace anybit {
namespace {

FormatParameter public_parameter(const formats::Parameter& p) {
  return {.name = std::string(p.name),
          .preset = p.preset,
          .doc = std::string(p.doc),
          .low = p.low,
          .high = p.high,
          .choices = {p.choices.begin(), p.choices.end()}};
}

Result<FormatInfo> describe(const formats::Descriptor& format, const ParameterValues& parameters) {
  const auto codec = TRY(format.make(TRY(formats::complete(format, parameters))));
  const formats::Properties p = codec->properties();
  FormatInfo info{.name = std::string(format.name),
                  .family = std::string(format.family),
                  .summary = std::string(format.summary),
                  .parameters = {},
                  .fields = {},
                  .bits = p.bits,
                  .bits_per_value = codec->packed_bits(),
                  .lowest = p.lowest,
                  .largest = p.largest,
                  .smallest = p.smallest,
                  .zero = p.zero,
                  .negative_zero = p.negative_zero,
                  .infinity = p.infinity,
                  .nan = p.nan,
                  .layout = p.layout,
                  .float_type = std::string(format.float_type),
                  .granularity = format.granularity,
                  .block_size = format.granularity == Granularity::block ? format.block_size : 0};
  for (const formats::Parameter& one : format.parameters) info.parameters.push_back(public_parameter(one));
  for (const formats::Field& field : codec->fields(std::max<std::int64_t>(info.block_size, 1))) {
    if (field.stored_bits == 0) continue;
    info.fields.push_back(
        {std::string(field.name), std::string(kernels::stored_type(field)), field.count, field.per_tensor});
    if (info.block_size > 0 && !field.per_tensor) {
      info.bits_per_value +=
          static_cast<double>(field.count) * field.stored_bits / static_cast<double>(info.block_size);
    }
  }
  return info;
}

}  // namespace

Result<std::vector<FormatInfo>> list_formats() noexcept {
  return guarded([]() -> Result<std::vector<FormatInfo>> {
    std::vector<FormatInfo> list;
    for (const formats::Descriptor* one : formats::table()) list.push_back(TRY(describe(*one, {})));
    return list;
  });
}

Result<FormatInfo> describe_format(std::string_view name, const ParameterValues& parameters) noexcept {
  return guarded([&]() -> Result<FormatInfo> { return describe(*TRY(formats::find(name)), parameters); });
}

Result<ParameterValue> parse_parameter(std::string_view format, std::string_view name,
                                       std::string_view text) noexcept {
  return guarded(
      [&]() -> Result<ParameterValue> { return formats::parse(*TRY(formats::find(format)), name, text); });
}

}  // namespace anybit
