// Where the inputs and results of a tile of output positions are (conv_float.hpp).
#pragma once

#include "kernels/conv/conv_float.hpp"
#include "kernels/conv/conv_tile.hpp"

namespace anybit::kernels {

// Finds the inputs and the output of positions.
class ConvPlaces {
 public:
  explicit ConvPlaces(const FloatConvWork& work) : work_(work) {
    for (int a = 0; a < 3; ++a) {
      const ConvAxis& axis = (*work.axes)[a];
      low_[a] = 0, high_[a] = axis.count;
      for (const std::int64_t tap : axis.taps) {
        low_[a] = std::max(low_[a], ceil_quotient(-tap, axis.in_step));
        high_[a] = std::min(high_[a], ceil_quotient(axis.input - tap, axis.in_step));
      }
    }
  }
  struct At {
    std::int64_t n, at[3];
  };
  At Find(std::int64_t position) const {
    At found{};
    for (int a = 2; a >= 0; --a) {
      found.at[a] = position % (*work_.axes)[a].count;
      position /= (*work_.axes)[a].count;
    }
    found.n = position;
    return found;
  }
  void Next(At& where) const {
    for (int a = 2; a >= 0; --a) {
      if (++where.at[a] < (*work_.axes)[a].count) return;
      where.at[a] = 0;
    }
    ++where.n;
  }
  // Fills the tables of a tile from position `where`, which then follows the tile; whether all inputs are
  // inside.
  bool Fill(At& where, int count, std::int64_t* in, std::int64_t* out) const {
    const auto& [d, h, w] = *work_.axes;
    const std::int64_t in_step = w.in_step * work_.pixel, out_step = w.step * 8;
    std::int64_t origin[kConvTile] = {};
    At one = where;
    bool all = true;
    for (int p = 0; p < count;) {  // row by row
      const auto& [n, at] = where;
      const int beside = static_cast<int>(std::min<std::int64_t>(count - p, w.count - at[2]));
      std::int64_t from = Origin(where), to = Output(where);
      for (int i = p; i < p + beside; ++i, from += in_step, to += out_step) origin[i] = from, out[i] = to;
      if (!Inside(0, at[0], 1) || !Inside(1, at[1], 1) || !Inside(2, at[2], beside)) all = false;
      p += beside;
      where.at[2] += beside - 1;
      Next(where);
    }
    std::int64_t* row = in;
    for (const std::int64_t kd : d.taps) {
      for (const std::int64_t kh : h.taps) {
        for (const std::int64_t kw : w.taps) {
          const std::int64_t shift = ((kd * h.input + kh) * w.input + kw) * work_.pixel;
          for (int p = 0; p < kConvTile; ++p) row[p] = origin[p] + shift;
          row += kConvTile;
        }
      }
    }
    for (int p = 0; p < count && !all; ++p, Next(one)) {
      if (!Inside(0, one.at[0], 1) || !Inside(1, one.at[1], 1) || !Inside(2, one.at[2], 1))
        Exclude(one, in + p);
    }
    return all;
  }

 private:
  // Marks the taps of a position that are outside the input.
  void Exclude(const At& where, std::int64_t* in) const {
    const auto& [d, h, w] = *work_.axes;
    const auto within = [&](const ConvAxis& axis, int a, std::int64_t tap) {
      const std::int64_t i = where.at[a] * axis.in_step + tap;
      return i >= 0 && i < axis.input;
    };
    for (const std::int64_t kd : d.taps) {
      for (const std::int64_t kh : h.taps) {
        const bool real = within(d, 0, kd) && within(h, 1, kh);
        for (const std::int64_t kw : w.taps) {
          if (!real || !within(w, 2, kw)) *in = -1;
          in += kConvTile;
        }
      }
    }
  }

  bool Inside(int axis, std::int64_t from, std::int64_t count) const {
    return from >= low_[axis] && from + count <= high_[axis];
  }
  std::int64_t Origin(const At& where) const {
    const auto& [d, h, w] = *work_.axes;
    const auto& [n, at] = where;
    return n * work_.image_stride +
           ((at[0] * d.in_step * h.input + at[1] * h.in_step) * w.input + at[2] * w.in_step) * work_.pixel;
  }
  std::int64_t Output(const At& where) const {
    const auto& [d, h, w] = *work_.axes;
    const auto& [n, at] = where;
    const std::int64_t line = (d.first + at[0] * d.step) * h.output + h.first + at[1] * h.step;
    return (n * work_.groups * work_.out_blocks * work_.out_space() + line * w.output + w.first +
            at[2] * w.step) *
           8;
  }

  const FloatConvWork& work_;
  std::int64_t low_[3], high_[3];  // positions whose taps are all inside
};

}  // namespace anybit::kernels
