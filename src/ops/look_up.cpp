// LookUp, anybit's own: each 8-bit code becomes the entry of a table of 256. What activations between
// quantized values are turned into.
#include <cstring>

#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) { return outputs_of(call, tensor(call.in(1).type, call.in(0).shape)); }

// Eight at a time: one load and one store instead of eight, between which the compiler would have to fear
// that the output is the table.
void look_up_eight(const std::uint8_t* from, const std::uint8_t* entries, std::uint8_t* to) {
  std::uint64_t codes = 0, results = 0;
  std::memcpy(&codes, from, sizeof codes);
  for (int k = 0; k < 64; k += 8) results |= std::uint64_t{entries[codes >> k & 0xFF]} << k;
  std::memcpy(to, &results, sizeof results);
}

Result<void> run(Frame& frame) {
  const Array& x = frame.in(0);
  const Array& table = frame.in(1);
  if (element_bytes(x.type()) != 1) return wrong_type(frame, 0);
  if (table.count() != 256 || element_bytes(table.type()) != 1)
    return wrong(fmt::format("the table is {}", to_string(table)), "256 elements of 8 bits");
  Dims dims = x.dims();
  const std::int64_t rank = std::min<std::int64_t>(frame.integer("rank", 0), 1);
  while (static_cast<std::int64_t>(dims.size()) < rank) dims.insert(0, 1);
  Array* out = TRY(frame.out_over(0, 0, table.type(), dims));
  const auto* from = x.data<std::uint8_t>();
  const auto* entries = table.data<std::uint8_t>();
  auto* to = out->mutable_data<std::uint8_t>();
  parallel(frame, x.stored(), 0.5, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t i = begin;
    for (; i + 8 <= end; i += 8) look_up_eight(from + i, entries, to + i);
    for (; i < end; ++i) to[i] = entries[from[i]];
  });
  return {};
}

}  // namespace

std::span<const Descriptor> look_up_descriptors() {
  static const Descriptor all[] = {{.name = "LookUp",
                                    .domain = "ai.anybit",
                                    .since = {1},
                                    .infer = infer,
                                    .run = run,
                                    .required = 2,
                                    .layouts = Layouts::each}};
  return all;
}

}  // namespace anybit::ops
