#include "kernels/conv/conv_onednn.hpp"

#include "kernels/conv/onednn_engine.hpp"

#ifndef ANYBIT_ONEDNN

namespace anybit::kernels {

std::shared_ptr<const DnnlConv> DnnlConv::make(const DnnlPiece&) { return nullptr; }

}  // namespace anybit::kernels

#else

#ifdef __SSE2__
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <future>
#include <mutex>
#include <new>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string_view>
#include <vector>

namespace anybit::kernels {
namespace {

// Detects NaN in activations by the floating-point exception "invalid", raised on this thread since
// construction: x86 raises it for minima, maxima and comparisons with NaN, and each of oneDNN's activations
// starts with one. On other CPUs minima and maxima keep NaN.
class InvalidSeen {
 public:
#ifdef __SSE2__
  InvalidSeen() {
    if (now()) _mm_setcsr(_mm_getcsr() & ~static_cast<unsigned>(_MM_EXCEPT_INVALID));
  }
  static bool now() { return (_mm_getcsr() & _MM_EXCEPT_INVALID) != 0; }
#else
  static bool now() { return false; }
#endif
};

using Tag = dnnl::memory::format_tag;
using Desc = dnnl::memory::desc;

Desc described(const dnnl::memory::dims& dims, Tag tag) { return {dims, dnnl::memory::data_type::f32, tag}; }

struct Tags {
  Tag x, y, weights;
};

Tags tags_of(ConvKind kind, bool grouped, bool deep) {
  switch (kind) {
    case ConvKind::few:
      return deep ? Tags{Tag::ncdhw, Tag::nCdhw8c, Tag::Odhwi8o} : Tags{Tag::nchw, Tag::nChw8c, Tag::Ohwi8o};
    case ConvKind::depthwise:
      return Tags{Tag::nChw8c, Tag::nChw8c, Tag::Goihw8g};
    case ConvKind::blocked:
      break;
  }
  if (grouped)
    return deep ? Tags{Tag::nCdhw8c, Tag::nCdhw8c, Tag::gOIdhw8i8o}
                : Tags{Tag::nChw8c, Tag::nChw8c, Tag::gOIhw8i8o};
  return deep ? Tags{Tag::nCdhw8c, Tag::nCdhw8c, Tag::OIdhw8i8o}
              : Tags{Tag::nChw8c, Tag::nChw8c, Tag::OIhw8i8o};
}

void add_activation(const Activation& activation, dnnl::post_ops& post) {
  using Kind = Activation::Kind;
  using Algorithm = dnnl::algorithm;
  const auto add = [&](Algorithm algorithm, float a, float b) { post.append_eltwise(1.0f, algorithm, a, b); };
  switch (activation.kind) {
    case Kind::none:
      break;
    case Kind::relu:
    case Kind::leaky_relu:
      add(Algorithm::eltwise_relu, activation.a, 0);
      break;
    case Kind::clip:
      add(Algorithm::eltwise_clip, activation.a, activation.b);
      break;
    case Kind::sigmoid:
      add(Algorithm::eltwise_logistic, 0, 0);
      break;
    case Kind::tanh:
      add(Algorithm::eltwise_tanh, 0, 0);
      break;
    case Kind::hard_sigmoid:
      add(Algorithm::eltwise_linear, activation.a, activation.b);
      add(Algorithm::eltwise_clip, 0, 1);
      break;
    case Kind::hard_swish:
      add(Algorithm::eltwise_hardswish, 0, 0);
      break;
    case Kind::silu:
      add(Algorithm::eltwise_swish, 1, 0);
      break;
  }
}

// Three spatial axes instead of two.
bool is_deep(const ConvSizes& sizes) {
  const WindowAxis& axis = sizes.window[0];
  return axis.input != 1 || axis.kernel != 1 || axis.output != 1;
}

dnnl::convolution_forward::primitive_desc describe(const DnnlPiece& piece) {
  const ConvSizes& sizes = piece.sizes;
  const bool deep = is_deep(sizes);
  const bool grouped = sizes.groups > 1;
  dnnl::memory::dims x{sizes.batch, sizes.in_channels}, y{sizes.batch, sizes.out_channels};
  dnnl::memory::dims weights{sizes.out_per_group(), sizes.in_per_group()}, stride, dilation, before, after;
  if (grouped) weights.insert(weights.begin(), sizes.groups);
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
  const Tags tags = tags_of(piece.kind, grouped, deep);
  const Desc bias = piece.bias ? described({sizes.out_channels}, Tag::x) : Desc();
  const dnnl::convolution_forward::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, described(x, tags.x),
      described(weights, tags.weights), bias, described(y, tags.y), stride, dilation, before, after);
  dnnl::post_ops post;
  if (piece.sum) post.append_sum(1.0f);
  add_activation(piece.activation, post);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(post);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return {desc, attributes, onednn_engine(), true};
}

// The objects of one call, kept for the next.
struct Lane {
  explicit Lane(const dnnl::convolution_forward::primitive_desc& desc)
      : stream(onednn_engine()),
        x(desc.src_desc(), onednn_engine(), nullptr),
        weights(desc.weights_desc(), onednn_engine(), nullptr),
        bias(desc.bias_desc(), onednn_engine(), nullptr),
        y(desc.dst_desc(), onednn_engine(), nullptr),
        scratch(desc.scratchpad_desc(), onednn_engine(), nullptr) {}
  dnnl::stream stream;
  dnnl::memory x, weights, bias, y, scratch;
};

class CompiledConv final : public DnnlConv {
 public:
  CompiledConv(const dnnl::convolution_forward::primitive_desc& desc, const DnnlPiece& piece)
      : desc_(desc),
        primitive_(desc),
        scratch_bytes_(desc.scratchpad_desc().get_size()),
        bias_(piece.bias),
        activated_(piece.activation.kind != Activation::Kind::none) {}

  std::size_t scratch_bytes() const override { return scratch_bytes_; }

  bool run(const float* x, const float* weights, const float* bias, float* y,
           std::byte* scratch) const override {
    const OneThread one_thread;
    std::unique_ptr<Lane> lane = take();
    const auto set = [](dnnl::memory& memory, const void* data) {
      memory.set_data_handle(const_cast<void*>(data));
    };
    set(lane->x, x);
    set(lane->weights, weights);
    if (bias_) set(lane->bias, bias);
    set(lane->y, y);
    if (scratch_bytes_ > 0) set(lane->scratch, scratch);
    dnnl_exec_arg_t arguments[5];
    int count = 0;
    const auto add = [&](int name, const dnnl::memory& memory) { arguments[count++] = {name, memory.get()}; };
    add(DNNL_ARG_SRC, lane->x);
    add(DNNL_ARG_WEIGHTS, lane->weights);
    if (bias_) add(DNNL_ARG_BIAS, lane->bias);
    add(DNNL_ARG_DST, lane->y);
    if (scratch_bytes_ > 0) add(DNNL_ARG_SCRATCHPAD, lane->scratch);
    const InvalidSeen invalid;
    if (dnnl_primitive_execute(primitive_.get(), lane->stream.get(), count, arguments) != dnnl_success) {
      throw std::bad_alloc();  // all other errors were found at construction
    }
    lane->stream.wait();
    const bool kept = !activated_ || !invalid.now();
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(lane));
    return kept;
  }

 private:
  std::unique_ptr<Lane> take() const {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Lane> lane = std::move(idle_.back());
        idle_.pop_back();
        return lane;
      }
    }
    expect_memory(kForLane);
    return std::make_unique<Lane>(desc_);
  }

  dnnl::convolution_forward::primitive_desc desc_;
  dnnl::convolution_forward primitive_;
  std::size_t scratch_bytes_;
  bool bias_, activated_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Lane> > idle_;
};

// oneDNN's kernels use int sizes.
bool countable(const ConvSizes& sizes) {
  constexpr std::int64_t kMost = 1 << 30;
  const auto fits = [&](std::initializer_list<std::int64_t> factors) {
    std::int64_t product = 1;
    for (const std::int64_t factor : factors) {
      if (factor < 1 || factor > kMost || product > kMost / factor) return false;
      product *= factor;
    }
    return true;
  };
  const auto& [d, h, w] = sizes.window;
  for (const WindowAxis& axis : sizes.window) {
    if (!fits({axis.kernel, axis.dilation}) || !fits({axis.output, axis.stride}) || axis.before > kMost ||
        axis.after > kMost)
      return false;
  }
  return fits({sizes.batch, sizes.in_channels, d.input, h.input, w.input}) &&
         fits({sizes.batch, sizes.out_channels, d.output, h.output, w.output}) &&
         fits({sizes.out_channels, sizes.in_per_group(), d.kernel, h.kernel, w.kernel});
}

bool same(const DnnlPiece& a, const DnnlPiece& b) {
  const auto bits = [](float number) { return std::bit_cast<std::uint32_t>(number); };  // 0 is not -0
  return a.kind == b.kind && a.sizes.batch == b.sizes.batch && a.sizes.in_channels == b.sizes.in_channels &&
         a.sizes.out_channels == b.sizes.out_channels && a.sizes.groups == b.sizes.groups &&
         a.sizes.window == b.sizes.window && a.bias == b.bias && a.sum == b.sum &&
         a.activation.kind == b.activation.kind && bits(a.activation.a) == bits(b.activation.a) &&
         bits(a.activation.b) == bits(b.activation.b);
}

// A cache of the process's kernels, most recently used first. A kernel is independent of the weights:
// changing weights are only reordered, and identical layers share one kernel. oneDNN has its own cache, which
// is slow.
class Known {
 public:
  static Known& of_process() {
    static Known& all = *new Known;  // never destroyed: oneDNN may be gone first
    return all;
  }
  // Empty if it is not in the cache; null if oneDNN is known to have no kernel.
  std::optional<std::shared_ptr<const DnnlConv> > find(const DnnlPiece& piece) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(all_, [&](const Entry& one) { return same(one.piece, piece); });
    if (found == all_.end()) return std::nullopt;
    std::rotate(all_.begin(), found, found + 1);
    return all_.front().kernel;
  }
  std::shared_ptr<const DnnlConv> keep(const DnnlPiece& piece, std::shared_ptr<const DnnlConv> kernel) {
    const std::lock_guard lock(mutex_);
    if (all_.size() == kMost) all_.pop_back();
    all_.insert(all_.begin(), {piece, kernel});
    return kernel;
  }

 private:
  static constexpr std::size_t kMost = 128;
  struct Entry {
    DnnlPiece piece;
    std::shared_ptr<const DnnlConv> kernel;
  };
  std::mutex mutex_;
  std::vector<Entry> all_;
};

}  // namespace

std::shared_ptr<const DnnlConv> DnnlConv::make(const DnnlPiece& piece) {
  if (!available() || !countable(piece.sizes)) return nullptr;
  if (piece.kind == ConvKind::depthwise && is_deep(piece.sizes)) return nullptr;
  if (const auto known = Known::of_process().find(piece)) return *known;
  expect_memory(kForPrimitive);
  const OneThread one_thread;
  try {
    const auto desc = describe(piece);
    if (!desc) return Known::of_process().keep(piece, nullptr);
    const char* name = nullptr;  // its fallback loops are slower than ours
    if (dnnl_primitive_desc_query(desc.get(), dnnl_query_impl_info_str, 0, &name) != dnnl_success ||
        !std::string_view(name).starts_with("jit")) {
      return Known::of_process().keep(piece, nullptr);
    }
    return Known::of_process().keep(piece, std::make_shared<const CompiledConv>(desc, piece));
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
    return nullptr;
  } catch (const std::future_error&) {  // its cache holds a kernel that failed for lack of memory
    return nullptr;
  }
}

}  // namespace anybit::kernels

#endif

namespace anybit::kernels {

bool DnnlConv::available() { return onednn_available(); }
int DnnlConv::instruction_set() { return onednn_instruction_set(); }

}  // namespace anybit::kernels
