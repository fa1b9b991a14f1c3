// The part of ONNX Runtime's C interface, API version 17, that a library of custom operators needs. The
// layout is a published ABI: an entry keeps its place in all later versions, so ONNX Runtime 1.17 and
// everything newer can load a library built against it. tests/ort/check_abi.cpp compares this header with
// ONNX Runtime's own.
#pragma once

#include <cstddef>
#include <cstdint>

// Opaque; the names are ONNX Runtime's, so that both headers can be included together.
struct OrtStatus;
struct OrtValue;
struct OrtKernelInfo;
struct OrtKernelContext;
struct OrtTensorTypeAndShapeInfo;
struct OrtSessionOptions;
struct OrtCustomOpDomain;

namespace anybit::ort {

inline constexpr std::uint32_t kApiVersion = 17;

// OrtErrorCode
enum ErrorCode : int { kFail = 1, kInvalidArgument = 2, kNotImplemented = 9, kInvalidGraph = 10 };
// ONNXTensorElementDataType: the numbers of ONNX's TensorProto.DataType.
enum ElementType : int { kAnyType = 0, kFloat = 1, kUint8 = 2 };
// OrtCustomOpInputOutputCharacteristic
enum Characteristic : int { kRequired = 0, kOptional = 1, kVariadic = 2 };

struct CustomOp;

// OrtApi: the functions that are used, by their names there. Each `other` stands for functions that are not.
// A status is null for success; the caller releases it.
struct Api {
  OrtStatus* (*CreateStatus)(ErrorCode code, const char* message);
  void* other1[25];
  OrtStatus* (*CreateCustomOpDomain)(const char* name, OrtCustomOpDomain** out);
  OrtStatus* (*CustomOpDomain_Add)(OrtCustomOpDomain* domain, const CustomOp* op);
  OrtStatus* (*AddCustomOpDomain)(OrtSessionOptions* options, OrtCustomOpDomain* domain);
  void* other29[22];
  OrtStatus* (*GetTensorMutableData)(OrtValue* value, void** out);
  void* other52[8];
  OrtStatus* (*GetTensorElementType)(const OrtTensorTypeAndShapeInfo* info, ElementType* out);
  OrtStatus* (*GetDimensionsCount)(const OrtTensorTypeAndShapeInfo* info, std::size_t* out);
  OrtStatus* (*GetDimensions)(const OrtTensorTypeAndShapeInfo* info, std::int64_t* dims, std::size_t count);
  void* other63[2];
  OrtStatus* (*GetTensorTypeAndShape)(const OrtValue* value, OrtTensorTypeAndShapeInfo** out);
  void* other66[19];
  // Functions that fill a buffer of `*size` elements report the size that is needed if `out` is null.
  OrtStatus* (*KernelInfoGetAttribute_float)(const OrtKernelInfo* info, const char* name, float* out);
  OrtStatus* (*KernelInfoGetAttribute_int64)(const OrtKernelInfo* info, const char* name, std::int64_t* out);
  OrtStatus* (*KernelInfoGetAttribute_string)(const OrtKernelInfo* info, const char* name, char* out,
                                              std::size_t* size);
  void* other88[2];
  OrtStatus* (*KernelContext_GetInput)(const OrtKernelContext* context, std::size_t index,
                                       const OrtValue** out);
  OrtStatus* (*KernelContext_GetOutput)(OrtKernelContext* context, std::size_t index,
                                        const std::int64_t* dims, std::size_t rank, OrtValue** out);
  void* other92[1];
  void (*ReleaseStatus)(OrtStatus* status);
  void* other94[5];
  void (*ReleaseTensorTypeAndShapeInfo)(OrtTensorTypeAndShapeInfo* info);
  void* other100[62];
  OrtStatus* (*KernelInfoGetAttributeArray_float)(const OrtKernelInfo* info, const char* name, float* out,
                                                  std::size_t* size);
  OrtStatus* (*KernelInfoGetAttributeArray_int64)(const OrtKernelInfo* info, const char* name,
                                                  std::int64_t* out, std::size_t* size);
  void* other164[66];
  OrtStatus* (*KernelInfo_GetInputCount)(const OrtKernelInfo* info, std::size_t* out);
  void* other231[13];
  OrtStatus* (*KernelInfo_GetNodeName)(const OrtKernelInfo* info, char* out, std::size_t* size);
  void* other245[4];
  OrtStatus* (*KernelInfoGetConstantInput_tensor)(const OrtKernelInfo* info, std::size_t index,
                                                  int* is_constant, const OrtValue** out);
  void* other250[24];
  OrtStatus* (*KernelContext_ParallelFor)(const OrtKernelContext* context,
                                          void (*task)(void* data, std::size_t i), std::size_t count,
                                          std::size_t batches, void* data);
};

// OrtApiBase
struct ApiBase {
  const Api* (*GetApi)(std::uint32_t version);  // null if the runtime is older
  const char* (*GetVersionString)();
};

// OrtCustomOp, complete: an operator as ONNX Runtime sees it.
struct CustomOp {
  std::uint32_t version;
  void* (*CreateKernel)(const CustomOp* op, const Api* api, const OrtKernelInfo* info);
  const char* (*GetName)(const CustomOp* op);
  const char* (*GetExecutionProviderType)(const CustomOp* op);
  ElementType (*GetInputType)(const CustomOp* op, std::size_t index);
  std::size_t (*GetInputTypeCount)(const CustomOp* op);
  ElementType (*GetOutputType)(const CustomOp* op, std::size_t index);
  std::size_t (*GetOutputTypeCount)(const CustomOp* op);
  void (*KernelCompute)(void* kernel, OrtKernelContext* context);
  void (*KernelDestroy)(void* kernel);
  Characteristic (*GetInputCharacteristic)(const CustomOp* op, std::size_t index);
  Characteristic (*GetOutputCharacteristic)(const CustomOp* op, std::size_t index);
  int (*GetInputMemoryType)(const CustomOp* op, std::size_t index);
  int (*GetVariadicInputMinArity)(const CustomOp* op);
  int (*GetVariadicInputHomogeneity)(const CustomOp* op);
  int (*GetVariadicOutputMinArity)(const CustomOp* op);
  int (*GetVariadicOutputHomogeneity)(const CustomOp* op);
  OrtStatus* (*CreateKernelV2)(const CustomOp* op, const Api* api, const OrtKernelInfo* info, void** kernel);
  OrtStatus* (*KernelComputeV2)(void* kernel, OrtKernelContext* context);
  OrtStatus* (*InferOutputShapeFn)(const CustomOp* op, void* context);
  int (*GetStartVersion)(const CustomOp* op);
  int (*GetEndVersion)(const CustomOp* op);
};

}  // namespace anybit::ort
