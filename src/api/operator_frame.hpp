// The frame of a single operator that runs on the memory of a host program.
#pragma once

#include <vector>

#include "anybit/operator.hpp"
#include "ops/frame.hpp"

namespace anybit {

class OperatorFrame final : public ops::Frame {
 public:
  // Everything outlives the frame. `inputs`: null where one is left out.
  OperatorFrame(const graph::Node& node, std::span<const ops::Datum* const> inputs, OperatorHost& host,
                ops::Memory& memory, ThreadPool& pool, const ops::Prepared* prepared);

  const graph::Attribute* find(std::string_view name) const override { return node.attribute(name); }
  Result<void> make_plain(std::size_t) override { return {}; }  // inputs have no other layout
  Result<ops::Array*> out(std::size_t i, ops::ElementType type, const ops::Dims& dims,
                          ops::Layout layout) override;
  Result<ops::Array*> out_over(std::size_t i, std::size_t over, ops::ElementType type,
                               const ops::Dims& dims) override;
  Result<void> share(std::size_t i, std::size_t from, const ops::Dims& dims) override;
  Result<void> set(std::size_t i, ops::Datum value) override;
  Result<ops::Datum> keep(const ops::Datum& value) override { return value; }
  Result<std::byte*> scratch(std::int64_t bytes) override;
  Result<std::span<const ops::Datum>> call(std::string_view attribute,
                                           std::span<const ops::Datum> inputs) override;
  ops::Memory& memory() override { return memory_; }

 private:
  OperatorHost& host_;
  ops::Memory& memory_;
  ops::Array output_;
  std::vector<ops::Block> scratch_;
};

}  // namespace anybit
