#include "ops/matmul/integer_gemm.hpp"

#include "ops/check.hpp"

namespace anybit::ops {
namespace {

using kernels::IntegerResult;
using kernels::IntegerType;

template <class T>
Result<Along<T>> along(const Array& array, const T* data, std::size_t input, std::int64_t each,
                       std::int64_t matrices) {
  if (array.count() == 1) return Along<T>{data, 0, 0};
  if (array.count() == each) return Along<T>{data, 1, 0};
  if (array.count() == each * matrices) return Along<T>{data, 1, each};
  return wrong(fmt::format("input {} is {}", input, to_string(array)), fmt::format("1 or {} elements", each));
}

void widen(const Array& from, std::int32_t* to) {
  for_integer(from.type(), [&]<class T>(T) {
    for (std::int64_t i = 0; i < from.count(); ++i) to[i] = static_cast<std::int32_t>(from.data<T>()[i]);
  });
}

// Only QGemm has transposing attributes; the others ignore them.
bool turned(const Attributes& node, std::string_view name) {
  return node.node.op_type.str() == "QGemm" && node.flag(name);
}

}  // namespace

Result<Along<std::int32_t>> zeros_of(Frame& frame, std::size_t input, std::int64_t each,
                                     std::int64_t matrices) {
  if (!frame.has(input)) return Along<std::int32_t>{};
  const Array& array = frame.in(input);
  if (!integer_type_of(array.type())) return wrong_type(frame, input);
  Along<std::int32_t> zeros = TRY(along<std::int32_t>(array, nullptr, input, each, matrices));
  if (only_checks(frame)) return zeros;
  std::int32_t* data = TRY(frame.scratch_of<std::int32_t>(array.count())).data();
  widen(array, data);
  zeros.data = data;
  return zeros;
}

Result<Along<float>> scales_of(Frame& frame, std::size_t input, std::int64_t each, std::int64_t matrices) {
  if (!frame.has(input)) return Along<float>{};
  const Array& array = frame.in(input);
  if (!for_real(array.type(), [](auto) {})) return wrong_type(frame, input);
  return along<float>(array, TRY(as_floats(frame, array)), input, each, matrices);
}

Result<std::shared_ptr<const Prepared>> prepare_integer(const Setup& setup, const IntegerInputs& inputs) {
  const std::size_t b = inputs.b, zero = inputs.b_zero;
  const std::shared_ptr<const Prepared> nothing;
  const Array* array = setup.constant(b);
  const bool has_zero = zero < setup.node.inputs.size() && !setup.node.inputs[zero].empty();
  const Array* zeros = setup.constant(zero);
  if (!array || array->rank() == 0 || (has_zero && !zeros)) return nothing;
  const auto type = integer_type_of(array->type());
  if (!type || (zeros && zeros->type() != array->type())) return nothing;
  const Operand operand = TRY(Operand::of(array->dims(), false, turned(setup, "transB")));
  const std::int64_t matrices = operand.batch.count();
  std::vector<std::int32_t> wide(zeros ? static_cast<std::size_t>(zeros->count()) : 0);
  Along<std::int32_t> each;
  if (zeros) {
    widen(*zeros, wide.data());
    const auto placed = along<std::int32_t>(*zeros, wide.data(), zero, operand.columns, matrices);
    if (!placed.ok()) return nothing;  // one for each matrix of the other operand, or an error of the run
    each = *placed;
  }
  const Array* a_zero = inputs.a_zero == kNoInput ? nullptr : setup.constant(inputs.a_zero);
  auto packed = std::make_shared<PackedIntegerOperand>();
  packed->matrix_elements = operand.rows * operand.columns;
  if (packed->matrix_elements == 0) return nothing;
  for (std::int64_t i = 0; i < matrices; ++i) {
    const std::int64_t offset = i * packed->matrix_elements * bytes_of(*type);
    packed->matrices.emplace_back(
        kernels::IntegerView{*type, array->bytes() + offset, operand.row_stride, operand.column_stride},
        operand.rows, operand.columns,
        kernels::Spread<std::int32_t>{each.data ? each.data + i * each.matrix : nullptr, 0, each.stride});
    if (a_zero && !is_byte(a_zero->type())) packed->matrices.back().keep_column_sums();
  }
  return std::shared_ptr<const Prepared>(std::move(packed));
}

Result<IntegerTerms> IntegerTerms::of(Frame& frame, const IntegerInputs& inputs) {
  const Array &a = frame.in(inputs.a), &b = frame.in(inputs.b);
  IntegerTerms terms{inputs, {}, {}, {}};
  const Operand left = TRY(Operand::of(a.dims(), true, turned(frame, "transA")));
  const Operand right = TRY(Operand::of(b.dims(), false, turned(frame, "transB")));
  terms.matmul = TRY(BatchedMatMul::of(left, right));
  if (!integer_type_of(b.type())) return wrong_type(frame, inputs.b);
  if (frame.has(inputs.a_zero) && frame.in(inputs.a_zero).type() != a.type())
    return wrong_type(frame, inputs.a_zero);
  if (frame.has(inputs.b_zero) && frame.in(inputs.b_zero).type() != b.type())
    return wrong_type(frame, inputs.b_zero);
  terms.a_zero = TRY(zeros_of(frame, inputs.a_zero, terms.matmul.m, terms.matmul.count));
  terms.b_zero = TRY(zeros_of(frame, inputs.b_zero, terms.matmul.n, terms.matmul.count));
  if (terms.a_zero.stride != 0 && element_bytes(a.type()) != 1) {
    return wrong(fmt::format("{} has one zero point per row", to_string(a)),
                 "a single zero point, or an 8-bit type");
  }
  return terms;
}

Result<IntegerScales> scales_of(Frame& frame, const IntegerTerms& terms, const Along<float>& a,
                                const Along<float>& b, double divisor) {
  const BatchedMatMul& p = terms.matmul;
  const std::int64_t rows = a.stride == 0 ? 1 : p.m, columns = b.stride == 0 ? 1 : p.n;
  const std::int64_t matrices = a.matrix == 0 && b.matrix == 0 ? 1 : p.count;
  if (only_checks(frame)) return IntegerScales{};
  float* data = TRY(frame.scratch_of<float>(matrices * rows * columns)).data();
  for (std::int64_t line = 0; line < matrices * rows; ++line) {
    const std::int64_t matrix = line / rows, row = line % rows;
    const auto left = static_cast<double>(a.data[matrix * a.matrix + row * a.stride]);
    const float* right = b.data + matrix * b.matrix;
    float* to = data + line * columns;
    if (divisor == 1) {  // the usual case, and a division takes longer than the rest
      for (std::int64_t i = 0; i < columns; ++i)
        to[i] = static_cast<float>(left * static_cast<double>(right[i * b.stride]));
      continue;
    }
    for (std::int64_t i = 0; i < columns; ++i)
      to[i] = static_cast<float>(left * static_cast<double>(right[i * b.stride]) / divisor);
  }
  return IntegerScales{{data, rows == 1 ? 0 : columns, columns == 1 ? 0 : 1},
                       matrices == 1 ? 0 : rows * columns};
}

void multiply_integers(const Frame& frame, const IntegerTerms& terms,
                       const kernels::IntegerEpilogue& epilogue, const IntegerScales& scales, Array& out,
                       const std::uint8_t* a) {
  BatchedMatMul p = terms.matmul;
  const bool rows_alike = terms.a_zero.stride == 0 && scales.spread.row_stride == 0 && scales.matrix == 0 &&
                          epilogue.bias.row_stride == 0 && epilogue.addend.row_stride == 0;
  if (rows_alike && terms.b_zero.matrix == 0) p.fold();
  const Array& left = frame.in(terms.inputs.a);
  const Array& right = frame.in(terms.inputs.b);
  const IntegerType a_type = a ? IntegerType::uint8 : *integer_type_of(left.type()),
                    b_type = *integer_type_of(right.type());
  const auto* packed = frame.prepared<PackedIntegerOperand>();
  each_matrix(frame, p, [&](std::int64_t i) {
    const auto [a_offset, b_offset] = p.at(i);
    const std::int32_t* b_zero = terms.b_zero.data ? terms.b_zero.data + i * terms.b_zero.matrix : nullptr;
    const kernels::PlainIntegers plain(
        {b_type, right.bytes() + b_offset * bytes_of(b_type), p.b_row, p.b_column}, p.k, p.n,
        {b_zero, 0, terms.b_zero.stride});
    const void* from =
        a ? static_cast<const void*>(a + a_offset) : left.bytes() + a_offset * bytes_of(a_type);
    kernels::IntegerGemmWork work{.m = p.m, .n = p.n, .k = p.k};
    work.a = {a_type, from, p.a_row, p.a_column};
    if (terms.a_zero.data)
      work.a_zero = {terms.a_zero.data + i * terms.a_zero.matrix, terms.a_zero.stride, 0};
    work.b = &plain;
    if (packed) work.b = &packed->matrices[static_cast<std::size_t>(b_offset / packed->matrix_elements)];
    work.c = out.mutable_bytes() + i * p.m * p.n * static_cast<std::int64_t>(element_bytes(out.type()));
    work.c_stride = p.n;
    work.epilogue = epilogue;
    work.epilogue.scale = scales.spread;
    if (scales.spread.data) work.epilogue.scale.data += i * scales.matrix;
    kernels::gemm(work, frame.pool());
  });
}

std::optional<IntegerType> integer_type_of(ElementType type) {
  switch (type) {
    case ElementType::int8:
      return IntegerType::int8;
    case ElementType::uint8:
      return IntegerType::uint8;
    case ElementType::int16:
      return IntegerType::int16;
    case ElementType::uint16:
      return IntegerType::uint16;
    default:
      return std::nullopt;
  }
}

std::optional<IntegerResult> result_of(ElementType type) {
  switch (type) {
    case ElementType::int8:
      return IntegerResult::int8;
    case ElementType::uint8:
      return IntegerResult::uint8;
    case ElementType::int16:
      return IntegerResult::int16;
    case ElementType::uint16:
      return IntegerResult::uint16;
    default:
      return std::nullopt;
  }
}

}  // namespace anybit::ops
