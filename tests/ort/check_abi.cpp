// Compares plugins/ort/abi.hpp with ONNX Runtime's own header: compiles if every entry has the same place
// and, apart from the names of enums and structures, the same type. tests/ort/test_abi.py compiles it.
#include <onnxruntime_c_api.h>

#include <type_traits>

#include "abi.hpp"

namespace {

using namespace anybit::ort;

// Structures that have a name of ours.
template <class T>
struct Named {
  using type = T;
};
template <>
struct Named<OrtApi> {
  using type = Api;
};
template <>
struct Named<OrtCustomOp> {
  using type = CustomOp;
};
template <>
struct Named<OrtShapeInferContext> {
  using type = void;
};
template <class T>
struct Named<const T> {
  using type = const typename Named<T>::type;
};

// A type without its names: enums by their size, and functions by their parameters.
template <class T, bool is_enum = std::is_enum_v<T>>
struct Plain {
  using type = typename Named<T>::type;
};
template <class T>
struct Plain<T, true> {
  using type = int;
  static_assert(sizeof(T) == sizeof(int));
};
template <class T>
struct Plain<T*, false> {
  using type = typename Plain<T>::type*;
};
template <class T>
struct Plain<const T, false> {
  using type = const typename Plain<T>::type;
};
template <class R, class... A>
struct Plain<R(A...), false> {
  using type = typename Plain<R>::type(typename Plain<A>::type...);
};
template <class R, class... A>
struct Plain<R(A...) noexcept, false> {
  using type = typename Plain<R>::type(typename Plain<A>::type...);
};

template <class Ours, class Theirs>
constexpr bool kSame = std::is_same_v<typename Plain<Ours>::type, typename Plain<Theirs>::type>;

#define SAME(ours, theirs, entry)                                                                 \
  static_assert(offsetof(ours, entry) == offsetof(theirs, entry), #entry " is in another place"); \
  static_assert(kSame<decltype(ours::entry), decltype(theirs::entry)>, #entry " has another type")

SAME(Api, OrtApi, CreateStatus);
SAME(Api, OrtApi, CreateCustomOpDomain);
SAME(Api, OrtApi, CustomOpDomain_Add);
SAME(Api, OrtApi, AddCustomOpDomain);
SAME(Api, OrtApi, GetTensorMutableData);
SAME(Api, OrtApi, GetTensorElementType);
SAME(Api, OrtApi, GetDimensionsCount);
SAME(Api, OrtApi, GetDimensions);
SAME(Api, OrtApi, GetTensorTypeAndShape);
SAME(Api, OrtApi, KernelInfoGetAttribute_float);
SAME(Api, OrtApi, KernelInfoGetAttribute_int64);
SAME(Api, OrtApi, KernelInfoGetAttribute_string);
SAME(Api, OrtApi, KernelContext_GetInput);
SAME(Api, OrtApi, KernelContext_GetOutput);
SAME(Api, OrtApi, ReleaseStatus);
SAME(Api, OrtApi, ReleaseTensorTypeAndShapeInfo);
SAME(Api, OrtApi, KernelInfoGetAttributeArray_float);
SAME(Api, OrtApi, KernelInfoGetAttributeArray_int64);
SAME(Api, OrtApi, KernelInfo_GetInputCount);
SAME(Api, OrtApi, KernelInfo_GetNodeName);
SAME(Api, OrtApi, KernelInfoGetConstantInput_tensor);
SAME(Api, OrtApi, KernelContext_ParallelFor);

SAME(ApiBase, OrtApiBase, GetApi);
SAME(ApiBase, OrtApiBase, GetVersionString);

SAME(CustomOp, OrtCustomOp, version);
SAME(CustomOp, OrtCustomOp, CreateKernel);
SAME(CustomOp, OrtCustomOp, GetName);
SAME(CustomOp, OrtCustomOp, GetExecutionProviderType);
SAME(CustomOp, OrtCustomOp, GetInputType);
SAME(CustomOp, OrtCustomOp, GetInputTypeCount);
SAME(CustomOp, OrtCustomOp, GetOutputType);
SAME(CustomOp, OrtCustomOp, GetOutputTypeCount);
SAME(CustomOp, OrtCustomOp, KernelCompute);
SAME(CustomOp, OrtCustomOp, KernelDestroy);
SAME(CustomOp, OrtCustomOp, GetInputCharacteristic);
SAME(CustomOp, OrtCustomOp, GetOutputCharacteristic);
SAME(CustomOp, OrtCustomOp, GetInputMemoryType);
SAME(CustomOp, OrtCustomOp, GetVariadicInputMinArity);
SAME(CustomOp, OrtCustomOp, GetVariadicInputHomogeneity);
SAME(CustomOp, OrtCustomOp, GetVariadicOutputMinArity);
SAME(CustomOp, OrtCustomOp, GetVariadicOutputHomogeneity);
SAME(CustomOp, OrtCustomOp, CreateKernelV2);
SAME(CustomOp, OrtCustomOp, KernelComputeV2);
SAME(CustomOp, OrtCustomOp, InferOutputShapeFn);
SAME(CustomOp, OrtCustomOp, GetStartVersion);
SAME(CustomOp, OrtCustomOp, GetEndVersion);

static_assert(sizeof(CustomOp) >= sizeof(OrtCustomOp) || ORT_API_VERSION > kApiVersion);
static_assert(kFail == int{ORT_FAIL} && kInvalidArgument == int{ORT_INVALID_ARGUMENT} &&
              kNotImplemented == int{ORT_NOT_IMPLEMENTED} && kInvalidGraph == int{ORT_INVALID_GRAPH});
static_assert(kAnyType == int{ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED} &&
              kFloat == int{ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT} &&
              kUint8 == int{ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8});
static_assert(kRequired == int{INPUT_OUTPUT_REQUIRED} && kOptional == int{INPUT_OUTPUT_OPTIONAL} &&
              kVariadic == int{INPUT_OUTPUT_VARIADIC});

}  // namespace
