#include "ops/matmul/batched_gemm.hpp"

#include <cassert>

#include "ops/check.hpp"
#include "ops/convert.hpp"

namespace anybit::ops {
namespace {

constexpr double kLargeMacs = 3e7;     // a GEMM that keeps several threads busy
constexpr double kMacsPerNano = 20.0;  // roughly

// Batch strides of `operand` under the broadcast shape `batch`.
Dims stretched(const Operand& operand, const Dims& batch) {
  Dims strides(batch.size(), 0);
  const std::size_t offset = batch.size() - operand.batch.size();
  for (std::size_t i = 0; i < operand.batch.size(); ++i) {
    strides[offset + i] = operand.batch[i] == 1 ? 0 : operand.batch_strides[i];
  }
  return strides;
}

// The elements as float32: in place, or converted into `wide`.
const float* as_floats(const Array& array, std::vector<float>& wide) {
  if (array.type() == ElementType::float32) return array.data<float>();
  wide.resize(static_cast<std::size_t>(array.count()));
  convert(array.type(), array.bytes(), ElementType::float32, reinterpret_cast<std::byte*>(wide.data()),
          array.count());
  return wide.data();
}

// c = epilogue(a·b) for every matrix of the batch. `b` is unused if `packed` is given.
void multiply(const Frame& frame, const BatchedMatMul& p, const float* a, const float* b,
              const PackedOperand* packed, float* c, const kernels::FloatEpilogue& epilogue) {
  each_matrix(frame, p, [&](std::int64_t i) {
    const auto [a_offset, b_offset] = p.at(i);
    const kernels::PlainFloats plain({packed ? nullptr : b + b_offset, p.b_row, p.b_column}, p.n);
    kernels::FloatGemmWork work{.m = p.m,
                                .n = p.n,
                                .k = p.k,
                                .a = {a + a_offset, p.a_row, p.a_column},
                                .b = &plain,
                                .c = c + i * p.m * p.n,
                                .c_stride = p.n,
                                .epilogue = epilogue};
    if (packed) work.b = &packed->matrices[static_cast<std::size_t>(b_offset / packed->matrix_elements)];
    kernels::gemm(work, frame.pool());
  });
}

}  // namespace

bool computes_in_floats(ElementType type) {
  return type == ElementType::float32 || type == ElementType::float16 || type == ElementType::bfloat16;
}

Result<Operand> Operand::of(const Dims& dims, bool left, bool transposed, bool batch_inside) {
  if (dims.empty()) return wrong("a scalar has no matrix work", "at least one axis");
  Operand result;
  if (dims.size() == 1) {
    result.vector = true;
    (left ? result.columns : result.rows) = dims[0];
    result.row_stride = left ? dims[0] : 1;
    return result;
  }
  const Dims strides = strides_of(dims);
  const std::size_t rank = dims.size();
  // Row and batch axes: […, rows, columns] or [rows, …, columns].
  const std::size_t rows = batch_inside ? 0 : rank - 2;
  for (std::size_t i = 0; i + 1 < rank; ++i) {
    if (i == rows) continue;
    result.batch.push_back(dims[i]);
    result.batch_strides.push_back(strides[i]);
  }
  result.rows = dims[rows];
  result.columns = dims[rank - 1];
  result.row_stride = strides[rows];
  result.column_stride = 1;
  if (transposed) {
    std::swap(result.rows, result.columns);
    std::swap(result.row_stride, result.column_stride);
  }
  return result;
}

Result<BatchedMatMul> BatchedMatMul::of(const Operand& a, const Operand& b) {
  if (a.columns != b.rows) {
    return wrong(
        fmt::format("matrices of {}×{} and {}×{} do not multiply", a.rows, a.columns, b.rows, b.columns),
        "as many columns on the left as rows on the right");
  }
  BatchedMatMul p;
  p.m = a.rows, p.k = a.columns, p.n = b.columns;
  p.a_row = a.row_stride, p.a_column = a.column_stride;
  p.b_row = b.row_stride, p.b_column = b.column_stride;
  p.batch = TRY(broadcast_dims(a.batch, b.batch));
  p.count = p.batch.count();
  p.a_strides = stretched(a, p.batch);
  p.b_strides = stretched(b, p.batch);
  p.out = p.batch;
  if (p.out.size() + 2 > Dims::kCapacity) return wrong("too many axes", "fewer");
  if (!a.vector) p.out.push_back(p.m);
  if (!b.vector) p.out.push_back(p.n);
  return p;
}

void BatchedMatMul::fold() {
  // From the last batch axis to the first, each matrix of A must start where the rows of the previous one
  // end.
  std::int64_t expected = m * a_row;
  for (std::size_t i = batch.size(); i-- > 0;) {
    if (batch[i] == 1) continue;
    if (b_strides[i] != 0 || a_strides[i] != expected) return;
    expected *= batch[i];
  }
  m *= count;
  count = 1;
  batch = a_strides = b_strides = Dims();
}

BatchedMatMul::Offsets BatchedMatMul::at(std::int64_t index) const {
  Offsets offsets{0, 0};
  for (std::size_t i = batch.size(); i-- > 0;) {
    const std::int64_t at = index % batch[i];
    index /= batch[i];
    offsets.a += at * a_strides[i];
    offsets.b += at * b_strides[i];
  }
  return offsets;
}

void each_matrix(const Frame& frame, const BatchedMatMul& matmul, const FunctionRef<std::int64_t>& body) {
  if (matmul.count == 1 || matmul.macs() > kLargeMacs) {
    for (std::int64_t i = 0; i < matmul.count; ++i) body(i);
    return;
  }
  parallel(frame, matmul.count, matmul.macs() / kMacsPerNano + 100,
           [&body](std::int64_t first, std::int64_t last) {
             for (std::int64_t i = first; i < last; ++i) body(i);
           });
}

std::shared_ptr<const PackedOperand> PackedOperand::of(const Array* b, const Operand& operand) {
  if (!b || !computes_in_floats(b->type()) || b->layout() != Layout::plain) return nullptr;
  const bool rows = operand.row_stride == operand.columns && operand.column_stride == 1;
  const bool columns = operand.column_stride == operand.rows && operand.row_stride == 1;
  if (!rows && !columns) return nullptr;  // transBatchB is rare: not packed
  auto packed = std::make_shared<PackedOperand>();
  packed->matrix_elements = operand.rows * operand.columns;
  if (packed->matrix_elements == 0) return nullptr;
  std::vector<float> wide;
  const float* elements = as_floats(*b, wide);
  for (std::int64_t i = 0; i < operand.batch.count(); ++i) {
    packed->matrices.emplace_back(kernels::MatrixView<float>{elements + i * packed->matrix_elements,
                                                             operand.row_stride, operand.column_stride},
                                  operand.rows, operand.columns);
  }
  return packed;
}

Result<const float*> as_floats(Frame& frame, const Array& array) {
  if (only_checks(frame)) return nullptr;
  if (array.type() == ElementType::float32) return array.data<float>();
  float* to = TRY(frame.scratch_of<float>(array.count())).data();
  const bool real = convert(array.type(), array.bytes(), ElementType::float32,
                            reinterpret_cast<std::byte*>(to), array.count());
  assert(real);
  static_cast<void>(real);
  return to;
}

void from_floats(const float* from, Array& to) {
  convert(ElementType::float32, reinterpret_cast<const std::byte*>(from), to.type(), to.mutable_bytes(),
          to.count());
}

Result<void> multiply_floats(Frame& frame, const BatchedMatMul& matmul, Array& out,
                             const kernels::FloatEpilogue& epilogue) {
  const auto* packed = frame.prepared<PackedOperand>();
  const float* left = TRY(as_floats(frame, frame.in(0)));
  const float* right = packed ? nullptr : TRY(as_floats(frame, frame.in(1)));
  const bool narrow = out.type() != ElementType::float32;
  float* to = narrow ? TRY(frame.scratch_of<float>(out.count())).data() : out.mutable_data<float>();
  multiply(frame, matmul, left, right, packed, to, epilogue);
  if (narrow) from_floats(to, out);
  return {};
}

Result<BroadcastAddend> BroadcastAddend::over(const Dims& dims, std::int64_t m, std::int64_t n) {
  const std::int64_t columns = dims.empty() ? 1 : dims.back();
  const std::int64_t rows = dims.size() < 2 ? 1 : dims[0];
  if (dims.size() > 2 || (rows != 1 && rows != m) || (columns != 1 && columns != n)) {
    return wrong(fmt::format("{} does not broadcast to [{}, {}]", to_string(dims), m, n),
                 "each axis 1 or equal to the result's");
  }
  return BroadcastAddend{rows == 1 ? 0 : columns, columns == 1 ? 0 : 1};
}

}  // namespace anybit::ops
