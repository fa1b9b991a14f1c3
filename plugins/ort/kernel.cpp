#include "kernel.hpp"

#include <limits>

#include "node.hpp"
#include "status.hpp"

namespace anybit::ort {
namespace {

const Definition& definition_of(const CustomOp* op) {
  return static_cast<const RegisteredOp*>(op)->definition;
}

// One run of a node: output and threads are ONNX Runtime's own.
class Host final : public OperatorHost {
 public:
  Host(const Api& api, OrtKernelContext* context, std::string_view output_type)
      : api_(api), context_(context), output_type_(output_type) {}

  Result<void*> output(std::size_t index, std::string_view type,
                       std::span<const std::int64_t> dims) override {
    // ONNX Runtime reserves memory for the type that the operator was registered with.
    if (type != output_type_)
      return Error(Code::invalid_state, "the output is " + std::string(type), {}, std::string(output_type_));
    OrtValue* value = nullptr;
    void* data = nullptr;
    const bool made =
        succeeded(api_, api_.KernelContext_GetOutput(context_, index, dims.data(), dims.size(), &value)) &&
        value != nullptr && succeeded(api_, api_.GetTensorMutableData(value, &data));
    if (!made) return Error(Code::out_of_memory, "ONNX Runtime has no memory for the output");
    return data;
  }

  // If ONNX Runtime refuses, the caller's thread does the work: anybit runs what its host leaves out.
  void parallel(std::size_t count, void (*task)(void* data, std::size_t i), void* data) override {
    succeeded(api_, api_.KernelContext_ParallelFor(context_, task, count, 0, data));
  }

 private:
  const Api& api_;
  OrtKernelContext* context_;
  std::string_view output_type_;
};

struct Kernel {
  const Api& api;
  const Definition& definition;
  Operator op;
  std::size_t inputs;

  Result<void> run(OrtKernelContext* context) const {
    std::vector<Tensor> tensors(inputs);
    std::vector<TensorView> views(inputs);
    for (std::size_t i = 0; i < inputs; ++i) {
      const OrtValue* value = nullptr;
      if (auto done = checked(api, api.KernelContext_GetInput(context, i, &value), "KernelContext_GetInput");
          !done.ok())
        return done;
      if (auto done = tensors[i].read(api, value); !done.ok()) return done;
      views[i] = tensors[i].view();
    }
    Host host(api, context, definition.output == kAnyType ? views[0].type : "float32");
    return op.run(views, host);
  }
};

OrtStatus* create(const CustomOp* op, const Api* api, const OrtKernelInfo* info, void** kernel) noexcept {
  return status_of(*api, [&]() -> Result<void> {
    const Definition& definition = definition_of(op);
    std::vector<Tensor> tensors;
    const Result<OperatorNode> node = read_node(*api, definition, info, tensors);
    if (!node.ok()) return node.error();
    Result<Operator> made = Operator::make(*node);
    if (!made.ok()) return made.error();
    *kernel = new Kernel{*api, definition, *std::move(made), node->inputs};
    return {};
  });
}

OrtStatus* compute(void* kernel, OrtKernelContext* context) noexcept {
  const auto& self = *static_cast<const Kernel*>(kernel);
  return status_of(self.api, [&] { return self.run(context); });
}

}  // namespace

// No InferOutputShapeFn: ONNX Runtime would call it with inputs that are left out or of unknown rank, which
// its interface cannot tell from scalars.
RegisteredOp::RegisteredOp(const Definition& of) : CustomOp{}, definition(of) {
  version = kApiVersion;
  GetName = [](const CustomOp* op) { return definition_of(op).name; };
  GetExecutionProviderType = [](const CustomOp*) { return "CPUExecutionProvider"; };
  GetInputType = [](const CustomOp* op, std::size_t i) { return definition_of(op).inputs[i].type; };
  GetInputTypeCount = [](const CustomOp* op) { return definition_of(op).inputs.size(); };
  GetOutputType = [](const CustomOp* op, std::size_t) { return definition_of(op).output; };
  GetOutputTypeCount = [](const CustomOp*) { return std::size_t{1}; };
  KernelDestroy = [](void* kernel) { delete static_cast<Kernel*>(kernel); };
  GetInputCharacteristic = [](const CustomOp* op, std::size_t i) {
    return definition_of(op).inputs[i].characteristic;
  };
  GetOutputCharacteristic = [](const CustomOp*, std::size_t) { return kRequired; };
  GetInputMemoryType = [](const CustomOp*, std::size_t) { return 0; };  // OrtMemTypeDefault
  GetVariadicInputMinArity = [](const CustomOp*) { return 0; };
  GetVariadicInputHomogeneity = [](const CustomOp*) { return 0; };  // fields differ in type
  GetVariadicOutputMinArity = [](const CustomOp*) { return 0; };
  GetVariadicOutputHomogeneity = [](const CustomOp*) { return 0; };
  CreateKernelV2 = create;
  KernelComputeV2 = compute;
  GetStartVersion = [](const CustomOp*) { return 1; };
  GetEndVersion = [](const CustomOp*) { return std::numeric_limits<int>::max(); };
}

}  // namespace anybit::ort
