#include "definitions.hpp"

namespace anybit::ort {
namespace {

using enum AttributeKind;

constexpr Attribute kFormat[] = {{"format", text}};
constexpr Attribute kDecode[] = {
    {"format", text}, {"coded", integers}, {"dims", integers}, {"compute", text}};
constexpr Attribute kDecodeMatMul[] = {{"format", text},  {"coded", integers}, {"dims", integers},
                                       {"compute", text}, {"transB", integer}, {"alpha", real},
                                       {"beta", real}};
constexpr Attribute kMx[] = {
    {"element_dtype", text}, {"axis", integer}, {"block_size", integer}, {"rounding_mode", integer}};
constexpr Attribute kBfp[] = {{"bfp_method", text},
                              {"axis", integer},
                              {"bit_width", integer},
                              {"block_size", integer},
                              {"rounding_mode", integer},
                              {"sub_block_size", integer},
                              {"sub_block_shift_bits", integer},
                              {"convert_to_bfloat_before_bfp", integer},
                              {"use_compiler_version_cpu_kernel", integer}};

constexpr Input kValues[] = {{kFloat}};
// Quark's operators take float16, too.
constexpr Input kRealValues[] = {{kAnyType}};
// The packed elements, then the fields of the format: float32 or uint8, …
constexpr Input kPacked[] = {{kUint8}, {kAnyType, kVariadic}};
// The matrix, an addend, then the inputs of Decode.
constexpr Input kMatrixAndPacked[] = {{kFloat}, {kFloat, kOptional}, {kUint8}, {kAnyType, kVariadic}};

constexpr const char *kAnybit = "ai.anybit", *kQuark = "com.amd.quark", *kOldQuark = "com.vai.quantize";

constexpr Definition kAll[] = {
    {kAnybit, "QuantizeDequantize", kFormat, kValues, kFloat},
    {kAnybit, "Decode", kDecode, kPacked, kFloat},
    {kAnybit, "DecodeMatMul", kDecodeMatMul, kMatrixAndPacked, kFloat},
    {kQuark, "MXQuantizeDequantize", kMx, kRealValues, kAnyType},
    {kQuark, "BFPQuantizeDequantize", kBfp, kRealValues, kAnyType},
    {kOldQuark, "MXFixNeuron", kMx, kRealValues, kAnyType},
    {kOldQuark, "BFPFixNeuron", kBfp, kRealValues, kAnyType},
};

}  // namespace

std::span<const Definition> definitions() { return kAll; }

}  // namespace anybit::ort
