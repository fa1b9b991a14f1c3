#include "kernels/conv/conv_gradient_onednn.hpp"

#include "kernels/conv/onednn_engine.hpp"

#ifndef ANYBIT_ONEDNN

namespace anybit::kernels {

std::int64_t DnnlConvGradient::largest_block() { return 8; }
std::shared_ptr<const DnnlConvGradient> DnnlConvGradient::make(const ConvGradientPiece&) { return nullptr; }

}  // namespace anybit::kernels

#else

#include <algorithm>
#include <future>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace anybit::kernels {
namespace {

using By = ConvGradientPiece::By;
using Form = ConvGradientPiece::Form;
using GradientTag = dnnl::memory::format_tag;
using GradientDesc = dnnl::memory::desc;

GradientDesc of_floats(const dnnl::memory::dims& dims, GradientTag tag) {
  return {dims, dnnl::memory::data_type::f32, tag};
}

// The window of a piece in oneDNN's words: two spatial axes, or three.
struct Shapes {
  bool deep = false;
  dnnl::memory::dims x, y, weights, stride, dilation, before, after;

  explicit Shapes(const ConvSizes& sizes)
      : x{sizes.batch, sizes.in_channels},
        y{sizes.batch, sizes.out_channels},
        weights{sizes.out_per_group(), sizes.in_per_group()} {
    const WindowAxis& depth = sizes.window[0];
    deep = depth.input != 1 || depth.kernel != 1 || depth.output != 1;
    if (sizes.groups > 1) weights.insert(weights.begin(), sizes.groups);
    for (std::size_t i = deep ? 0 : 1; i < 3; ++i) {
      const WindowAxis& axis = sizes.window[i];
      x.push_back(axis.input);
      y.push_back(axis.output);
      weights.push_back(axis.kernel);
      stride.push_back(axis.stride);
      dilation.push_back(axis.dilation - 1);
      before.push_back(axis.before);
      after.push_back(axis.after);
    }
  }
};

GradientTag blocks_of(std::int64_t block, bool deep) {
  if (block == 16) return deep ? GradientTag::nCdhw16c : GradientTag::nChw16c;
  return deep ? GradientTag::nCdhw8c : GradientTag::nChw8c;
}

GradientTag plain_weights_tag(bool grouped, bool deep) {
  if (grouped) return deep ? GradientTag::goidhw : GradientTag::goihw;
  return deep ? GradientTag::oidhw : GradientTag::oihw;
}

// The tensors of a kernel: what it reads beside dy, and what it writes.
struct Described {
  dnnl::primitive primitive;
  GradientDesc dy, other, result, scratch;
  int other_name = 0, result_name = 0;
};

dnnl::primitive_attr own_scratch() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

bool is_jit(const_dnnl_primitive_desc_t desc) {
  const char* name = nullptr;  // its fallback loops are slower than ours
  return dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name) == dnnl_success &&
         std::string_view(name).starts_with("jit");
}

std::optional<Described> described(const ConvGradientPiece& piece, const Shapes& shapes) {
  constexpr auto kDirect = dnnl::algorithm::convolution_direct;
  const GradientTag blocks = blocks_of(piece.block, shapes.deep);
  const GradientTag plain = shapes.deep ? GradientTag::ncdhw : GradientTag::nchw;
  const GradientDesc x = of_floats(shapes.x, piece.form == Form::few ? plain : blocks);
  const GradientDesc y = of_floats(shapes.y, blocks), w = of_floats(shapes.weights, GradientTag::any);
  const auto& [deep, x_dims, y_dims, w_dims, stride, dilation, before, after] = shapes;
  const dnnl::convolution_forward::primitive_desc forward(
      dnnl::convolution_forward::desc(dnnl::prop_kind::forward_training, kDirect, x, w, y, stride, dilation,
                                      before, after),
      onednn_engine(), true);
  if (!forward) return std::nullopt;
  if (piece.by == By::input) {
    const dnnl::convolution_backward_data::primitive_desc desc(
        dnnl::convolution_backward_data::desc(kDirect, x, w, y, stride, dilation, before, after),
        own_scratch(), onednn_engine(), forward, true);
    if (!desc || !is_jit(desc.get())) return std::nullopt;
    return Described{dnnl::convolution_backward_data(desc),
                     desc.diff_dst_desc(),
                     desc.weights_desc(),
                     desc.diff_src_desc(),
                     desc.scratchpad_desc(),
                     DNNL_ARG_WEIGHTS,
                     DNNL_ARG_DIFF_SRC};
  }
  const dnnl::convolution_backward_weights::primitive_desc desc(
      dnnl::convolution_backward_weights::desc(kDirect, x, w, y, stride, dilation, before, after),
      own_scratch(), onednn_engine(), forward, true);
  if (!desc || !is_jit(desc.get())) return std::nullopt;
  return Described{dnnl::convolution_backward_weights(desc),
                   desc.diff_dst_desc(),
                   desc.src_desc(),
                   desc.diff_weights_desc(),
                   desc.scratchpad_desc(),
                   DNNL_ARG_SRC,
                   DNNL_ARG_DIFF_WEIGHTS};
}

struct Operand {
  int name;
  const GradientDesc& desc;
  const void* data;
};

void execute(const dnnl::primitive& primitive, std::initializer_list<Operand> operands) {
  const OneThread one_thread;
  expect_memory(kForLane);
  dnnl::stream stream(onednn_engine());
  dnnl::memory memories[4];
  dnnl_exec_arg_t arguments[4];
  int count = 0;
  for (const Operand& one : operands) {
    memories[count] = dnnl::memory(one.desc, onednn_engine(), const_cast<void*>(one.data));
    arguments[count] = {one.name, memories[count].get()};
    ++count;
  }
  if (dnnl_primitive_execute(primitive.get(), stream.get(), count, arguments) != dnnl_success) {
    throw std::bad_alloc();  // all other errors were found at construction
  }
  stream.wait();
}

class CompiledGradient final : public DnnlConvGradient {
 public:
  CompiledGradient(Described of, By by, const GradientDesc& plain)
      : of_(std::move(of)), plain_(plain), weights_(by == By::input ? of_.other : of_.result) {
    const dnnl::engine& engine = onednn_engine();
    order_ = dnnl::reorder(dnnl::reorder::primitive_desc(engine, plain_, engine, weights_));
    unorder_ = dnnl::reorder(dnnl::reorder::primitive_desc(engine, weights_, engine, plain_));
  }

  std::size_t scratch_bytes() const override { return of_.scratch.get_size(); }
  std::int64_t weight_count() const override {
    return static_cast<std::int64_t>(weights_.get_size() / sizeof(float));
  }
  void order_weights(const float* w, float* ordered) const override {
    execute(order_, {{DNNL_ARG_FROM, plain_, w}, {DNNL_ARG_TO, weights_, ordered}});
  }
  void plain_weights(const float* ordered, float* w) const override {
    execute(unorder_, {{DNNL_ARG_FROM, weights_, ordered}, {DNNL_ARG_TO, plain_, w}});
  }
  void run(const float* dy, const float* other, float* result, std::byte* scratch) const override {
    execute(of_.primitive, {{DNNL_ARG_DIFF_DST, of_.dy, dy},
                            {of_.other_name, of_.other, other},
                            {of_.result_name, of_.result, result},
                            {DNNL_ARG_SCRATCHPAD, of_.scratch, scratch}});
  }

 private:
  Described of_;
  GradientDesc plain_, weights_;
  dnnl::primitive order_, unorder_;
};

// oneDNN's kernels use int sizes.
bool has_int_sizes(const ConvSizes& sizes) {
  constexpr double kMost = 1 << 30;
  double x = static_cast<double>(sizes.batch), y = x, w = 1;
  for (const WindowAxis& axis : sizes.window) {
    x *= static_cast<double>(axis.input);
    y *= static_cast<double>(axis.output);
    w *= static_cast<double>(axis.kernel);
    const double reach = static_cast<double>(axis.kernel) * static_cast<double>(axis.dilation);
    const double steps = static_cast<double>(axis.output) * static_cast<double>(axis.stride);
    if (std::max({reach, steps, static_cast<double>(axis.before), static_cast<double>(axis.after)}) > kMost)
      return false;
  }
  const auto in = static_cast<double>(sizes.in_channels), out = static_cast<double>(sizes.out_channels);
  return std::min(x * in, y * out) > 0 &&
         std::max({x * (in + 16), y * (out + 16), w * (in + 16) * (out + 16)}) < kMost;
}

// The process's kernels, most recently used first.
class KnownGradients {
 public:
  using Kernel = std::shared_ptr<const DnnlConvGradient>;
  static KnownGradients& of_process() {
    static KnownGradients& all = *new KnownGradients;  // never destroyed: oneDNN may be gone first
    return all;
  }
  // Empty if it is not known; null if oneDNN is known to have no kernel.
  std::optional<Kernel> find(const ConvGradientPiece& piece) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(all_, piece, &std::pair<ConvGradientPiece, Kernel>::first);
    if (found == all_.end()) return std::nullopt;
    std::rotate(all_.begin(), found, found + 1);
    return all_.front().second;
  }
  Kernel keep(const ConvGradientPiece& piece, Kernel kernel) {
    const std::lock_guard lock(mutex_);
    if (all_.size() == kMost) all_.pop_back();
    all_.insert(all_.begin(), {piece, kernel});
    return kernel;
  }

 private:
  static constexpr std::size_t kMost = 256;
  std::mutex mutex_;
  std::vector<std::pair<ConvGradientPiece, Kernel> > all_;
};

}  // namespace

std::int64_t DnnlConvGradient::largest_block() {
  constexpr int kAvx512 = dnnl_cpu_isa_avx512_core;
  return (onednn_instruction_set() & kAvx512) == kAvx512 ? 16 : 8;
}

std::shared_ptr<const DnnlConvGradient> DnnlConvGradient::make(const ConvGradientPiece& piece) {
  if (!onednn_available() || !has_int_sizes(piece.sizes)) return nullptr;
  if (piece.form == Form::few && piece.by == By::input) return nullptr;
  const Shapes shapes(piece.sizes);
  if (piece.form == Form::depthwise && shapes.deep) return nullptr;
  KnownGradients& known = KnownGradients::of_process();
  if (const auto kernel = known.find(piece)) return *kernel;
  expect_memory(kForPrimitive);
  const OneThread one_thread;
  try {
    auto found = described(piece, shapes);
    if (!found) return known.keep(piece, nullptr);
    const GradientDesc plain =
        of_floats(shapes.weights, plain_weights_tag(piece.sizes.groups > 1, shapes.deep));
    return known.keep(piece, std::make_shared<const CompiledGradient>(std::move(*found), piece.by, plain));
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
    return known.keep(piece, nullptr);
  } catch (const std::future_error&) {  // its cache holds a kernel that failed for lack of memory
    return nullptr;
  }
}

}  // namespace anybit::kernels

#endif
