#include "kernels/conv/resize.hpp"

#include <algorithm>
#include <complex>
#include <string>

namespace anybit::kernels {
namespace {

template <class T>
void line(const Taps<T>& axis, const T* from, T* to) {
  const std::int64_t taps = axis.taps;
  const T* weights = axis.weights.data();
  const std::int64_t* first = axis.first.data();
  if (taps == 2) {
    for (std::int64_t j = 0; j < axis.out; ++j) {
      const T* pair = from + first[j];
      to[j] = weights[2 * j] * pair[0] + weights[2 * j + 1] * pair[1];
    }
    return;
  }
  for (std::int64_t j = 0; j < axis.out; ++j) {
    T sum = 0;
    for (std::int64_t t = 0; t < taps; ++t) sum += weights[j * taps + t] * from[first[j] + t];
    to[j] = sum;
  }
}

// to = the weighted sum of lines that are `step` apart.
template <class T>
void blend(const T* weights, std::int64_t taps, const T* from, std::int64_t step, T* to, std::int64_t count) {
  if (taps == 2) {
    const T a = weights[0], b = weights[1];
    for (std::int64_t i = 0; i < count; ++i) to[i] = a * from[i] + b * from[step + i];
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) to[i] = weights[0] * from[i];
  for (std::int64_t t = 1; t < taps; ++t) {
    const T weight = weights[t];
    const T* next = from + t * step;
    for (std::int64_t i = 0; i < count; ++i) to[i] += weight * next[i];
  }
}

}  // namespace

template <class T>
void resize_slices(const Taps<T>& axis, std::int64_t inner, const T* from, T* to, std::int64_t begin,
                   std::int64_t end) {
  if (inner == 1 && begin % axis.out == 0 && end % axis.out == 0) {
    for (std::int64_t o = begin / axis.out; o < end / axis.out; ++o)
      line(axis, from + o * axis.in, to + o * axis.out);
    return;
  }
  for (std::int64_t s = begin; s < end; ++s) {
    const std::int64_t j = s % axis.out;
    const T* source = from + (s / axis.out * axis.in + axis.first[static_cast<std::size_t>(j)]) * inner;
    blend(axis.weights.data() + j * axis.taps, axis.taps, source, inner, to + s * inner, inner);
  }
}
template void resize_slices(const Taps<float>&, std::int64_t, const float*, float*, std::int64_t,
                            std::int64_t);
template void resize_slices(const Taps<double>&, std::int64_t, const double*, double*, std::int64_t,
                            std::int64_t);

void resize_rows(const Taps<float>& rows, const Taps<float>& columns, const float* image, float* out,
                 std::int64_t begin, std::int64_t end, float* scratch) {
  const std::int64_t width = columns.out, taps = rows.taps;
  std::int64_t have_first = 0, have_last = 0;  // the input rows that are in `scratch`, row r at r % taps
  float turned[16] = {};
  for (std::int64_t y = begin; y < end; ++y) {
    const std::int64_t first = rows.first[static_cast<std::size_t>(y)];
    for (std::int64_t r = first; r < first + taps; ++r) {
      if (r < have_first || r >= have_last) line(columns, image + r * columns.in, scratch + r % taps * width);
    }
    have_first = first;
    have_last = first + taps;
    // The weights in the order of the rows in memory.
    for (std::int64_t t = 0; t < taps; ++t)
      turned[(first + t) % taps] = rows.weights[static_cast<std::size_t>(y * taps + t)];
    blend(turned, taps, scratch, width, out + y * width, width);
  }
}

template <class T>
void pick_row(const T* row, std::span<const std::int64_t> place, T* out) {
  for (std::size_t j = 0; j < place.size(); ++j) out[j] = row[place[j]];
}

template <class T>
void repeat_row(const T* row, std::int64_t count, std::int64_t times, T* out) {
  if (times == 1) {
    std::copy_n(row, count, out);
  } else if (times == 2) {
    for (std::int64_t i = 0; i < count; ++i) {
      out[2 * i] = row[i];
      out[2 * i + 1] = row[i];
    }
  } else {
    for (std::int64_t i = 0; i < count; ++i) std::fill_n(out + i * times, times, row[i]);
  }
}

// A type cannot stand in parentheses: NOLINTBEGIN(bugprone-macro-parentheses)
#define ANYBIT_PICK(T)                                                 \
  template void pick_row(const T*, std::span<const std::int64_t>, T*); \
  template void repeat_row(const T*, std::int64_t, std::int64_t, T*)
// NOLINTEND(bugprone-macro-parentheses)
ANYBIT_PICK(std::uint8_t);
ANYBIT_PICK(std::uint16_t);
ANYBIT_PICK(std::uint32_t);
ANYBIT_PICK(std::uint64_t);
ANYBIT_PICK(std::complex<double>);
ANYBIT_PICK(std::string);
#undef ANYBIT_PICK

}  // namespace anybit::kernels
