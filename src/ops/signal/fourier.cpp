// DFT and STFT: Fourier transforms along an axis, and of overlapping frames of a signal. ONNX: DFT-17 (axis
// is an attribute), -20 (an input); STFT-17. Complex numbers are a last axis of size 2.
#include "base/checked.hpp"
#include "kernels/signal/fft.hpp"
#include "ops/frame.hpp"
#include "ops/raise.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

using kernels::Complex;
using kernels::Fft;

// The value of input `i`, if it is known; `otherwise` if it is left out.
Dim number_in(const Call& call, std::size_t i, const Dim& otherwise) {
  if (!call.has(i)) return otherwise;
  const auto& elements = call.in(i).elements;
  return elements && elements->size() == 1 ? elements->front() : Dim();
}

// Number of bins of a transform of length n.
Dim bins_of(const Dim& n, bool onesided) {
  if (!n.known() || *n.size < 1) return {};
  return onesided ? floor_div(n, 2) + 1 : n;
}

Result<Values> infer_dft(const Call& call) {
  Value value = tensor(call.in(0).type, call.in(0).shape);
  if (!value.shape || value.shape->size() < 2) return outputs_of(call, std::move(value));
  Shape& shape = *value.shape;
  const bool inverse = call.flag("inverse"), onesided = call.flag("onesided"), half = inverse && onesided;
  const auto rank = static_cast<std::int64_t>(shape.size());
  const Dim given = call.version < 20 ? Dim(call.integer("axis", 1)) : number_in(call, 2, Dim(-2));
  const std::int64_t axis = given.known() ? (*given.size < 0 ? *given.size + rank : *given.size) : -1;
  if (axis >= 0 && axis < rank - 1) {
    Dim& size = shape[static_cast<std::size_t>(axis)];
    size = bins_of(number_in(call, 1, half ? Dim(2) * (size - 1) : size), onesided && !inverse);
  } else {
    shape = unknown_shape(shape.size());
  }
  shape.back() = half ? 1 : 2;
  return outputs_of(call, std::move(value));
}

Result<Values> infer_stft(const Call& call) {
  const auto& shape = call.in(0).shape;
  if (!shape || (shape->size() != 2 && shape->size() != 3))
    return outputs_of(call, tensor(call.in(0).type, std::nullopt));
  const auto& window = call.in(2).shape;
  const Dim length = (*shape)[1], step = number_in(call, 1, Dim()),
            widest = !call.has(2)                    ? length
                     : window && window->size() == 1 ? window->front()
                                                     : Dim(),
            n = number_in(call, 3, widest);
  const Dim last = length - n;  // last start of a frame
  const Dim frames = last.known() && *last.size >= 0 ? floor_div(last, step) + 1 : Dim();
  return outputs_of(
      call, tensor(call.in(0).type, Shape{(*shape)[0], frames, bins_of(n, call.flag("onesided", true)), 2}));
}

// Long sums: accumulated in double, rounded once.
template <class T>
T rounded(double value) {
  return static_cast<T>(static_cast<Computed<T>>(value));
}

template <class T>
Complex number_at(const T* data, std::int64_t at, std::int64_t parts) {
  return {static_cast<double>(static_cast<Computed<T>>(data[at * parts])),
          parts == 2 ? static_cast<double>(static_cast<Computed<T>>(data[at * parts + 1])) : 0.0};
}

// How one transform reads and writes along its axis.
struct Line {
  std::int64_t size = 0, parts = 1, step = 1;  // of the input: length, real or complex, stride
  std::int64_t bins = 0, out_parts = 2;        // of the output
  bool inverse = false, half_spectrum = false;
};

template <class T>
void transform(const Fft& fft, const Line& line, const T* in, T* out, std::span<Complex> work) {
  const std::int64_t n = fft.length(), given = std::min(line.size, n);
  Complex* data = work.data();
  std::fill_n(data, n, Complex{});
  if (line.half_spectrum) {
    // The other half is the mirrored complex conjugate of the first.
    for (std::int64_t k = 0; k < std::min(line.size, n / 2 + 1); ++k) {
      const Complex one = number_at(in, k * line.step, line.parts);
      data[(n - k) % n] = {one.re, -one.im};
      data[k] = {one.re, k == 0 || 2 * k == n ? 0.0 : one.im};
    }
  } else {
    for (std::int64_t k = 0; k < given; ++k) data[k] = number_at(in, k * line.step, line.parts);
  }
  if (line.inverse) {
    fft.inverse(data, data + n);
  } else {
    fft.forward(data, data + n);
  }
  for (std::int64_t k = 0; k < line.bins; ++k) {
    T* to = out + k * line.step * line.out_parts;
    to[0] = rounded<T>(data[k].re);
    if (line.out_parts == 2) to[1] = rounded<T>(data[k].im);
  }
}

Result<std::int64_t> length_in(const Frame& frame, std::size_t i, std::int64_t otherwise,
                               std::string_view what) {
  const std::int64_t length = frame.has(i) ? TRY(integer_from(frame.in(i), what)) : otherwise;
  if (length < 1 || length > (std::int64_t{1} << 48))
    return wrong(fmt::format("{} is {}", what, length), "1 or more");
  return length;
}

Result<std::int64_t> parts_of(const Frame& frame) {
  const Array& in = frame.in(0);
  if (in.rank() < 2 || (in.dims().back() != 1 && in.dims().back() != 2)) {
    return wrong(fmt::format("the signal is {}", to_string(frame.datum(0))),
                 "a last axis of 1 (real) or 2 (complex)");
  }
  return in.dims().back();
}

Result<void> run_dft(Frame& frame) {
  const Array& in = frame.in(0);
  Line line;
  line.parts = TRY(parts_of(frame));
  std::int64_t given = frame.version < 20 ? frame.integer("axis", 1) : -2;
  if (frame.version >= 20 && frame.has(2)) given = TRY(integer_from(frame.in(2), "the axis"));
  const std::size_t axis = TRY(axis_of(given, in.rank()));
  if (axis + 1 == in.rank()) return wrong("the axis is that of real and imaginary parts", "another one");
  const bool onesided = frame.flag("onesided");
  line.inverse = frame.flag("inverse");
  line.half_spectrum = line.inverse && onesided;
  line.size = in.dim(axis);
  const std::int64_t whole = line.half_spectrum ? 2 * (line.size - 1) : line.size;
  const std::int64_t n = TRY(length_in(frame, 1, whole, "the length of the transform"));
  line.bins = onesided && !line.inverse ? n / 2 + 1 : n;
  line.out_parts = line.half_spectrum ? 1 : 2;
  line.step = in.dims().product(axis + 1, in.rank() - 1);
  Dims dims = in.dims();
  dims[axis] = line.bins;
  dims.back() = line.out_parts;
  if (!for_real(in.type(), [](auto) {})) return wrong_type(frame, 0);
  Array* out = TRY(frame.out(0, in.type(), dims));
  const std::int64_t lines = dims.product(0, axis) * line.step;
  if (lines == 0) return {};
  for_real(in.type(), [&]<class T>(T) {
    const Fft fft(n);
    parallel(frame, lines, 20.0 * static_cast<double>(n), [&](std::int64_t first, std::int64_t last) {
      std::vector<Complex> work(static_cast<std::size_t>(n + fft.scratch()));
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t outer = i / line.step, inner = i % line.step;
        transform<T>(fft, line, in.data<T>() + (outer * line.size * line.step + inner) * line.parts,
                     out->mutable_data<T>() + (outer * line.bins * line.step + inner) * line.out_parts, work);
      }
    });
  });
  return {};
}

// [batch, length, parts] → [batch, frames, bins, 2]. A real signal may be [batch, length], as in ONNX
// Runtime.
Result<void> run_stft(Frame& frame) {
  const Array& in = frame.in(0);
  if (in.rank() != 2 && in.rank() != 3)
    return wrong(fmt::format("the signal is {}", to_string(frame.datum(0))),
                 "[batch, length] or [batch, length, 1 or 2]");
  const std::int64_t parts = in.rank() == 2 ? 1 : TRY(parts_of(frame)), length = in.dim(1);
  const std::int64_t step = TRY(length_in(frame, 1, 0, "frame_step"));
  const bool windowed = frame.has(2);
  if (windowed && (frame.in(2).type() != in.type() || frame.in(2).rank() != 1))
    return wrong(fmt::format("the window is {}", to_string(frame.in(2))), "a vector of the signal's type");
  const std::int64_t n = TRY(length_in(frame, 3, windowed ? frame.in(2).count() : length, "frame_length"));
  const std::int64_t width = windowed ? std::min(frame.in(2).count(), n) : n;
  if (n > length) return wrong(fmt::format("frames of {} do not fit into a signal of {}", n, length));
  const std::int64_t frames = 1 + (length - n) / step;
  const std::int64_t bins = frame.flag("onesided", true) ? n / 2 + 1 : n;
  if (!for_real(in.type(), [](auto) {})) return wrong_type(frame, 0);
  Array* out = TRY(frame.out(0, in.type(), {in.dim(0), frames, bins, 2}));
  for_real(in.type(), [&]<class T>(T) {
    const Fft fft(n);
    const T* window = windowed ? frame.in(2).data<T>() : nullptr;
    parallel(
        frame, in.dim(0) * frames, 20.0 * static_cast<double>(n), [&](std::int64_t first, std::int64_t last) {
          std::vector<Complex> work(static_cast<std::size_t>(n + fft.scratch()));
          for (std::int64_t i = first; i < last; ++i) {
            const T* signal = in.data<T>() + (i / frames * length + i % frames * step) * parts;
            std::fill(work.begin(), work.begin() + n, Complex{});
            for (std::int64_t k = 0; k < width; ++k) {
              const Complex one = number_at(signal, k, parts);
              const double weight = window ? static_cast<double>(static_cast<Computed<T>>(window[k])) : 1.0;
              work[static_cast<std::size_t>(k)] = {one.re * weight, one.im * weight};
            }
            fft.forward(work.data(), work.data() + n);
            T* to = out->mutable_data<T>() + i * bins * 2;
            for (std::int64_t k = 0; k < bins; ++k) {
              to[2 * k] = rounded<T>(work[static_cast<std::size_t>(k)].re);
              to[2 * k + 1] = rounded<T>(work[static_cast<std::size_t>(k)].im);
            }
          }
        });
  });
  return {};
}

Result<void> raise_dft_to_20(Raising& raising) {
  if (!raising.has_attribute("axis")) raising.set("axis", std::int64_t{1});  // the default has changed
  TRY(raising.integer_to_input("axis", 2));
  return {};
}

}  // namespace

std::span<const Descriptor> fourier_descriptors() {
  static const Descriptor all[] = {
      {.name = "DFT",
       .domain = "",
       .since = {17, 20},
       .infer = infer_dft,
       .run = run_dft,
       .raise = {{20, raise_dft_to_20}}},
      {.name = "STFT",
       .domain = "",
       .since = {17},
       .infer = infer_stft,
       .run = run_stft,
       .pairwise = true,
       .required = 2},
  };
  return all;
}

}  // namespace anybit::ops
