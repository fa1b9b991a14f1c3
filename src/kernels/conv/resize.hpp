// Interpolation along axes: each output is a weighted sum of a few neighbours, with the same weights on each
// line.
#pragma once

#include <cstdint>
#include <span>

namespace anybit::kernels {

// One axis. Output j is the sum of weights[j * taps + t] * input[first[j] + t].
template <class T>
struct Taps {
  std::int64_t in = 0, out = 0, taps = 1;
  std::span<const std::int64_t> first;
  std::span<const T> weights;
};

// Along an axis whose elements are `inner` apart. Slice s is output s % out of line s / out; computes slices
// [begin, end). T: float or double.
template <class T>
void resize_slices(const Taps<T>& axis, std::int64_t inner, const T* from, T* to, std::int64_t begin,
                   std::int64_t end);

// Both axes of an image at once: rows [begin, end) of the output. `scratch`: rows.taps lines of columns.out
// floats.
void resize_rows(const Taps<float>& rows, const Taps<float>& columns, const float* image, float* out,
                 std::int64_t begin, std::int64_t end, float* scratch);

// Nearest neighbour: element j of the output row is input[place[j]].
template <class T>
void pick_row(const T* row, std::span<const std::int64_t> place, T* out);
// Nearest neighbour by an integer factor: repeats each of `count` elements `times` times.
template <class T>
void repeat_row(const T* row, std::int64_t count, std::int64_t times, T* out);

}  // namespace anybit::kernels
