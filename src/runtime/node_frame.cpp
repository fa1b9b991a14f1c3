#include "runtime/node_frame.hpp"

#include "base/poison.hpp"
#include "ops/layout.hpp"

namespace anybit::runtime {

using ops::Array;
using ops::Datum;
using ops::Dims;
using ops::ElementType;
using ops::Layout;

Place Context::Recorder::begin(std::int64_t bytes, std::size_t step) {
  plan.buffers.push_back({.bytes = bytes, .first = static_cast<int>(step)});
  return {Place::How::arena, static_cast<int>(plan.buffers.size()) - 1};
}

NodeFrame::NodeFrame(Context& context, const Step& step, std::size_t index, const ops::Prepared* prepared)
    : Frame(*step.node), context_(context), step_(step), index_(index) {
  version = step.version;
  pool_ = &context.pool_;
  prepared_ = prepared;
  finish_ = step.finish;
  start_ = step.start;
  inputs_ = context.pointers_;
  constant_ = {step.constant.get(), step.constant ? step.inputs.size() : 0};
}

int NodeFrame::output_slot(std::size_t i) const { return i < step_.outputs.size() ? step_.outputs[i] : -1; }

const Place* NodeFrame::place(std::size_t i) const {
  return context_.plan_ && output_slot(i) >= 0 ? &context_.plan_->outputs[place_index(i)] : nullptr;
}

Array* NodeFrame::store(std::size_t i, Array array) {
  const int slot = output_slot(i);
  Datum& target = slot >= 0 ? context_.slot(slot) : unwanted_.emplace_front();
  target.kind = Datum::Kind::array;
  target.array = std::move(array);
  return &target.array;
}

Error NodeFrame::of_output(std::size_t i, ElementType type, const Dims& dims, Error error) const {
  const int slot = output_slot(i);
  if (slot < 0) return error;
  const std::string& name = context_.program_.slots[static_cast<std::size_t>(slot)].name;
  return std::move(error).within(
      fmt::format("output '{}' {}{}", shown(name), graph::name_of(type), to_string(dims)));
}

Result<std::int64_t> NodeFrame::bytes(std::size_t i, ElementType type, const Dims& dims,
                                      Layout layout) const {
  const auto found = ops::array_bytes(type, dims, layout);
  if (!found.ok()) return of_output(i, type, dims, found.error());
  return *found;
}

Result<Array> NodeFrame::make(std::size_t i, ElementType type, const Dims& dims, Layout layout) const {
  auto made = Array::make(*context_.memory_, type, dims, layout);
  if (!made.ok()) return of_output(i, type, dims, std::move(made).error());
  return std::move(made).value();
}

Result<void> NodeFrame::make_plain(std::size_t i) {
  if (i >= step_.inputs.size() || step_.inputs[i] < 0 || &datum(i) == &started_) return {};
  context_.pointers_[i] = TRY(context_.plain(step_.inputs[i]));
  return {};
}

Result<Array*> NodeFrame::out(std::size_t i, ElementType type, const Dims& dims, Layout layout) {
  const std::int64_t bytes = TRY(this->bytes(i, type, dims, layout));
  const int slot = output_slot(i);
  const Place* planned = place(i);
  if (planned && planned->how == Place::How::arena && type != ElementType::string) {
    if (std::byte* data = context_.planned_memory(*planned, bytes)) {
      context_.buffer_of_slot_[static_cast<std::size_t>(slot)] = planned->buffer;
      return store(i, Array::over(type, dims, data, {}, layout));
    }
  }
  Array* array = store(i, TRY(make(i, type, dims, layout)));
  if (context_.recorder_ && slot >= 0 && type != ElementType::string &&
      !context_.program_.slots[static_cast<std::size_t>(slot)].escapes) {
    const Place begun = context_.recorder_->begin(bytes, index_);
    context_.recorder_->plan.outputs[place_index(i)] = begun;
    context_.buffer_of_slot_[static_cast<std::size_t>(slot)] = begun.buffer;
  }
  return array;
}

int NodeFrame::buffer_of(std::size_t i) const {
  const int input = i < step_.inputs.size() ? step_.inputs[i] : -1;
  if (input < 0) return -1;
  const auto slot = static_cast<std::size_t>(input);
  if (&datum(i) == &context_.slots_[slot]) return context_.buffer_of_slot_[slot];
  // The output shares the plain copy.
  if (context_.recorder_) return context_.recorder_->plan.plain[slot].buffer;
  return context_.plan_ && !in(i).owned() ? context_.plan_->plain[slot].buffer : -1;
}

// Whether the input's memory is a buffer of the plan of just this size that nothing else needs.
bool NodeFrame::may_overwrite(std::size_t over, std::int64_t bytes) const {
  if (over >= step_.inputs.size() || step_.inputs[over] < 0) return false;
  const auto slot = static_cast<std::size_t>(step_.inputs[over]);
  const Slot& about = context_.program_.slots[slot];
  const Datum& value = context_.slots_[slot];
  return !about.is_constant && !about.escapes && about.last_use == static_cast<int>(index_) &&
         &datum(over) == &value && context_.buffer_of_slot_[slot] >= 0 && value.is_array() &&
         !value.array.block().shared() && static_cast<std::int64_t>(value.array.byte_count()) == bytes;
}

Result<Array*> NodeFrame::out_over(std::size_t i, std::size_t over, ElementType type, const Dims& dims) {
  const Layout layout = in(over).layout();
  const std::int64_t bytes = TRY(this->bytes(i, type, dims, layout));
  const int slot = output_slot(i);
  if (slot < 0 || type == ElementType::string || !may_overwrite(over, bytes) ||
      context_.program_.slots[static_cast<std::size_t>(slot)].escapes) {
    return out(i, type, dims, layout);
  }
  const int buffer = buffer_of(over);
  if (context_.recorder_) {
    context_.recorder_->plan.outputs[place_index(i)] = {Place::How::over, buffer};
    context_.buffer_of_slot_[static_cast<std::size_t>(slot)] = buffer;
    // While the first run is recorded, the output gets its own memory: the input's block is freed at its
    // release.
    return store(i, TRY(make(i, type, dims, layout)));
  }
  const Place* planned = place(i);
  // Only the buffer that was recorded for the output lives as long as the output.
  if (!planned || planned->how != Place::How::over || planned->buffer != buffer) {
    return out(i, type, dims, layout);
  }
  context_.buffer_of_slot_[static_cast<std::size_t>(slot)] = buffer;
  auto* data = const_cast<std::byte*>(in(over).bytes());  // this is the input's last use
  return store(i, Array::over(type, dims, data, {}, layout));
}

Result<void> NodeFrame::share(std::size_t i, std::size_t from, const Dims& dims) {
  const int slot = output_slot(i);
  if (slot < 0) return {};
  is_shared_ |= i == 0;
  const Array& source = in(from);
  const Place* planned = place(i);
  const int buffer = buffer_of(from);
  if (context_.recorder_) context_.recorder_->plan.outputs[place_index(i)] = {Place::How::shared, buffer};
  const bool lives = context_.recorder_ || source.owned() ||
                     (planned && planned->how == Place::How::shared && planned->buffer == buffer);
  if (!lives) {
    store(i, TRY(source.copy(*context_.memory_)).reshaped(dims));
    return {};
  }
  context_.buffer_of_slot_[static_cast<std::size_t>(slot)] = buffer;
  store(i, source.reshaped(dims));
  return {};
}

Result<void> NodeFrame::set(std::size_t i, Datum value) {
  const int slot = output_slot(i);
  if (slot < 0) return {};
  is_shared_ |= i == 0;
  if (value.is_array() && !value.array.owned()) value = TRY(keep(value));
  context_.slot(slot) = std::move(value);
  return {};
}

Result<void> NodeFrame::finish() {
  const std::span<const ops::FinishStep> steps = take_finish();
  if (steps.empty()) return {};
  Datum& datum = context_.slot(output_slot(0));
  if (!datum.is_array() || datum.array.type() != ElementType::float32)
    return ops::wrong(fmt::format("the result is {}", to_string(datum)), "float32, as the fusion expected");
  if (is_shared_) datum.array = TRY(datum.array.copy(*context_.memory_));
  Array& y = datum.array;
  ops::parallel(*this, y.stored(), 0.3, [&](std::int64_t first, std::int64_t last) {
    ops::finish(steps, {y.mutable_data<float>() + first, static_cast<std::size_t>(last - first)});
  });
  ops::clear_padding(y);
  return {};
}

Result<void> NodeFrame::apply_start() {
  const std::span<const ops::FinishStep> steps = take_start();
  if (steps.empty()) return {};
  TRY(make_plain(0));
  const Array& x = in(0);
  if (x.type() != ElementType::float32)
    return ops::wrong(fmt::format("the input is {}", to_string(x)), "float32, as the fusion expected");
  Array copy = TRY(ops::scratch_array(*this, ElementType::float32, x.dims(), Layout::plain));
  ops::parallel(*this, x.count(), 0.3, [&](std::int64_t first, std::int64_t last) {
    const std::span part(copy.mutable_data<float>() + first, static_cast<std::size_t>(last - first));
    std::copy_n(x.data<float>() + first, last - first, part.begin());
    ops::finish(steps, part);
  });
  started_ = Datum(std::move(copy));
  context_.pointers_[0] = &started_;
  return {};
}

Result<Datum> NodeFrame::keep(const Datum& value) {
  if (!value.is_array()) return value;
  if (value.array.owned()) return value;
  return Datum(TRY(value.array.copy(*context_.memory_)));
}

Result<std::byte*> NodeFrame::scratch(std::int64_t bytes) {
  constexpr std::int64_t kAlignment = 64;
  const std::int64_t wanted = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const std::int64_t begin = context_.scratch_used_;
  context_.scratch_used_ += wanted;
  if (!kPoisons && context_.scratch_used_ <= static_cast<std::int64_t>(context_.scratch_.capacity())) {
    return context_.scratch_.data() + begin;
  }
  // Blocks handed out earlier stay valid; the next run gets one block of sufficient size.
  auto block = context_.memory_->take(kPoisons ? bytes : wanted);
  if (!block.ok()) return std::move(block).error().within("intermediate results");
  context_.more_scratch_.push_back(std::move(block).value());
  return context_.more_scratch_.back().data();
}

Result<std::span<const Datum>> NodeFrame::call(std::string_view attribute, std::span<const Datum> inputs) {
  return context_.call(step_, attribute, inputs);
}

}  // namespace anybit::runtime
