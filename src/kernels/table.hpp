// The list of all kernels. Dispatch (choose.hpp), tests and benchmarks iterate over it: every .cpp of this
// folder that exports descriptors is in it.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <variant>

#include "base/thread_pool.hpp"
#include "kernels/codec/group_kernel.hpp"
#include "kernels/instructions.hpp"

namespace anybit::kernels {

// A kernel for one kind of work; `More` are further arguments of `run`. Kernels of one type are alternatives:
// dispatch takes the first that fits and whose instructions are available.
template <class Of, class... More>
struct Kernel {
  using Work = Of;
  void (*run)(const Work&, More...) = nullptr;  // null: not built for this architecture
  bool (*fits)(const Work&) = nullptr;          // null: any
};

struct FloatGemmWork;
using FloatGemm = Kernel<FloatGemmWork, ThreadPool&>;
struct IntegerGemmWork;
using IntegerGemm = Kernel<IntegerGemmWork, ThreadPool&>;
struct Int64GemmWork;
using Int64Gemm = Kernel<Int64GemmWork, ThreadPool&>;  // sums of 64 bits
struct PackedGemmWork;
using PackedGemm = Kernel<PackedGemmWork, ThreadPool&>;  // a few rows by weights decoded in registers
struct DynamicGemmWork;
using DynamicGemm = Kernel<DynamicGemmWork, ThreadPool&>;  // rows of A quantized to int8 on the fly
struct BinaryGemmWork;
struct BinaryPart;
using BinaryGemm = Kernel<BinaryGemmWork, const BinaryPart&>;
struct ImageWindows;
using ImageConv = Kernel<ImageWindows, ThreadPool&>;
struct ByteWindows;
using ByteConv = Kernel<ByteWindows, ThreadPool&>;
struct WinogradTiles;
using WinogradConv = Kernel<WinogradTiles, ThreadPool&>;
struct FloatConvWork;
using FloatConv = Kernel<FloatConvWork, ThreadPool&>;
struct FloatWinogradWork;
using FloatWinograd = Kernel<FloatWinogradWork, ThreadPool&>;
struct FloatDepthwiseWork;
using FloatDepthwise = Kernel<FloatDepthwiseWork, ThreadPool&>;
struct IntegerDepthwise;
using DepthwiseConv = Kernel<IntegerDepthwise, std::int64_t, std::int64_t>;  // output rows [first, last)
struct QuantizeWork;
using Quantize = Kernel<QuantizeWork>;
struct DequantizeWork;
using Dequantize = Kernel<DequantizeWork>;
struct QuantizedSumWork;
using QuantizedSum = Kernel<QuantizedSumWork>;
struct QuantizedProductWork;
using QuantizedProduct = Kernel<QuantizedProductWork>;
struct LookUpWork;
using LookUp = Kernel<LookUpWork>;
struct UnaryWork;
using FloatUnary = Kernel<UnaryWork>;
struct BinaryWork;
using FloatBinary = Kernel<BinaryWork>;
struct SoftmaxWork;
using RowSoftmax = Kernel<SoftmaxWork>;
struct ColumnSoftmaxWork;
using ColumnSoftmax = Kernel<ColumnSoftmaxWork>;
struct Float16Work;
using Float16Conversion = Kernel<Float16Work>;

// The codecs of a family of number formats. Each is compiled for every SIMD target.
struct GroupCodec {
  // The fast kernel of a codec, or null if this file has none. Rounding is half_even.
  std::unique_ptr<const GroupKernel> (*make)(const std::shared_ptr<const formats::Codec>& codec) = nullptr;
  // The same for other roundings, in families that have such kernels.
  std::unique_ptr<const GroupKernel> (*make_rounding)(const std::shared_ptr<const formats::Codec>& codec,
                                                      formats::Rounding rounding) = nullptr;
};

struct Descriptor {
  std::string_view name;        // for a codec: its format family
  std::string_view types = {};  // element types
  std::string_view takes = {};  // the work that it fits; empty: any
  Instructions needs = Instructions::baseline;
  // Whether it gives the same bits on every CPU, so that it may run in reproducible mode. Baseline kernels
  // do.
  bool same_bits = false;
  int order = 0;  // among kernels for the same instructions, the lowest that fits is taken
  std::variant<FloatGemm, IntegerGemm, Int64Gemm, PackedGemm, DynamicGemm, BinaryGemm, ImageConv, ByteConv,
               WinogradConv, FloatConv, FloatWinograd, FloatDepthwise, DepthwiseConv, Quantize, Dequantize,
               QuantizedSum, QuantizedProduct, LookUp, FloatUnary, FloatBinary, RowSoftmax, ColumnSoftmax,
               Float16Conversion, GroupCodec>
      kernel;
};

std::string_view operation_of(const Descriptor& one);  // "float GEMM", …
bool before(const Descriptor& a, const Descriptor& b);
std::span<const Descriptor* const> table();

}  // namespace anybit::kernels
