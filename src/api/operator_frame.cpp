#include "api/operator_frame.hpp"

#include <cstring>

namespace anybit {

OperatorFrame::OperatorFrame(const graph::Node& node, std::span<const ops::Datum* const> inputs,
                             OperatorHost& host, ops::Memory& memory, ThreadPool& pool,
                             const ops::Prepared* prepared)
    : Frame(node), host_(host), memory_(memory) {
  inputs_ = inputs;
  pool_ = &pool;
  prepared_ = prepared;
}

Result<ops::Array*> OperatorFrame::out(std::size_t i, ops::ElementType type, const ops::Dims& dims,
                                       ops::Layout layout) {
  if (type == ops::ElementType::string || layout != ops::Layout::plain)
    return error_at(Code::unsupported, {}, "the output is not a plain tensor of numbers");
  TRY(ops::array_bytes(type, dims, layout));  // fails on overflow
  void* const data = TRY(host_.output(i, graph::find(type)->name, dims.span()));
  if (data == nullptr && dims.count() != 0)
    return error_at(Code::out_of_memory, {}, fmt::format("no memory for output {}", i));
  output_ = ops::Array::over(type, dims, static_cast<std::byte*>(data));
  return &output_;
}

Result<ops::Array*> OperatorFrame::out_over(std::size_t i, std::size_t, ops::ElementType type,
                                            const ops::Dims& dims) {
  return out(i, type, dims, ops::Layout::plain);
}

Result<void> OperatorFrame::share(std::size_t i, std::size_t from, const ops::Dims& dims) {
  const ops::Array& source = in(from);
  ops::Array& copy = *TRY(out(i, source.type(), dims, ops::Layout::plain));
  if (source.byte_count() != 0) std::memcpy(copy.mutable_bytes(), source.bytes(), source.byte_count());
  return {};
}

Result<void> OperatorFrame::set(std::size_t, ops::Datum) {
  return error_at(Code::unsupported, {},
                  fmt::format("{} has other outputs than tensors", node.op_type.str()));
}

Result<std::byte*> OperatorFrame::scratch(std::int64_t bytes) {
  return scratch_.emplace_back(TRY(memory_.take(bytes))).data();
}

Result<std::span<const ops::Datum>> OperatorFrame::call(std::string_view, std::span<const ops::Datum>) {
  return error_at(Code::unsupported, {}, fmt::format("{} runs a subgraph", node.op_type.str()));
}

}  // namespace anybit
