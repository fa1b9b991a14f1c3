// Products with matrices of packed codes: eight rows of a vector's columns are decoded at a time.
#include "kernels/packed_codes.hpp"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/packed_codes_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/gemm_finish-inl.h"

// What lies behind a pointer is read again after this: in registers it would drive the sums out.
#undef ANYBIT_FORGET
#if defined(__GNUC__)
#define ANYBIT_FORGET(pointer) asm volatile("" : "+r"(pointer))
#else
#define ANYBIT_FORGET(pointer) static_cast<void>(pointer)
#endif

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

// Each kind of codes tells how rows come out of a group: Take() has what four rows of a vector of columns
// share, Row() gives one of them, Rows() for all columns.
#if HWY_TARGET == HWY_SCALAR
class Nibbles {
 public:
  static constexpr std::int64_t kBytes = 64;  // of a group
  struct Half {
    const std::uint8_t* at;
    int shift;
  };
  explicit Nibbles(const CodeView& view) : view_(view) {}
  HWY_INLINE Half Take(const std::uint8_t* group, int column, int half) const {
    return {group + column / 4 * 16 + column % 4 * 2, half * 4};
  }
  HWY_INLINE VF Row(const Half& half, int t) const {
    const int code = half.at[t / 2 * 8 + t % 2] >> half.shift & 15;
    const auto bits = static_cast<std::uint32_t>(view_.high[code] << 8 | view_.low[code]) << 16;
    return hn::BitCast(DF(), hn::Set(hn::RebindToUnsigned<DF>(), bits));
  }

 private:
  const CodeView& view_;
};
#else
class Nibbles {
  using DB = hn::Repartition<std::uint8_t, DF>;
  using DS = hn::Repartition<std::uint16_t, DF>;
  using DW = hn::RebindToUnsigned<DF>;

 public:
  static constexpr std::int64_t kBytes = 64;  // of a group
  struct Half {
    HWY_INLINE Half() {}  // g++ compiles a constructor that nobody wrote for no target, and refuses it on ARM
    HWY_INLINE Half(hn::Vec<DW> a, hn::Vec<DW> b) : first(a), second(b) {}
    hn::Vec<DW> first, second;  // the upper halves of two floats in each lane
  };
  explicit Nibbles(const CodeView& view) : view_(view) {}

  HWY_INLINE Half Take(const std::uint8_t* HWY_RESTRICT group, int vector, int half) const {
    const DB d;
    auto index = hn::LoadU(d, group + vector * kLanes * 4);
    if (half == 1) index = hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(DS(), index)));
    index = hn::And(index, hn::Set(d, 15));
    const auto low = hn::TableLookupBytes(hn::LoadDup128(d, view_.low), index);
    const auto high = hn::TableLookupBytes(hn::LoadDup128(d, view_.high), index);
    return {hn::BitCast(DW(), hn::InterleaveLower(d, low, high)),
            hn::BitCast(DW(), hn::InterleaveUpper(d, low, high))};
  }
  HWY_INLINE VF Row(const Half& half, int t) const {
    const auto pair = t < 2 ? half.first : half.second;
    if (t % 2 == 0) return hn::BitCast(DF(), hn::ShiftLeft<16>(pair));
    return hn::BitCast(DF(), hn::And(pair, hn::Set(DW(), 0xFFFF0000u)));
  }

 private:
  const CodeView& view_;
};
#endif

// Bytes lie as the matrix does.
class Bytes {
 public:
  static constexpr std::int64_t kBytes = 128;
  struct Half {
    const std::uint8_t* at;
  };
  explicit Bytes(const CodeView&) {}
  HWY_INLINE Half Take(const std::uint8_t* group, int vector, int half) const {
    return {group + half * 4 * kPanel + vector * kLanes};
  }
};

template <class T>
class Integers : public Bytes {
 public:
  using Bytes::Bytes;
  HWY_INLINE VF Row(const Half& half, int t) const {
    const auto* from = reinterpret_cast<const T*>(half.at + t * kPanel);
    return hn::ConvertTo(DF(), hn::PromoteTo(DI(), hn::LoadU(hn::Rebind<T, DF>(), from)));
  }
};

// A float8 is a float16 whose lower bits are zero; e4m3 has one bit of the exponent less, and 256 times the
// value then.
template <bool E4m3>
class Minifloats : public Bytes {
 public:
  using Bytes::Bytes;
  template <class D16>
  static HWY_INLINE hn::Vec<D16> Bits(D16 d, const std::uint8_t* from) {
    const auto bits = hn::ShiftLeft<8>(hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint8_t, D16>(), from)));
    if (!E4m3) return bits;
    const auto apart = hn::ShiftRight<1>(hn::BitCast(hn::RebindToSigned<D16>(), bits));
    return hn::And(hn::BitCast(d, apart), hn::Set(d, 0xBFFF));
  }
  HWY_INLINE VF Row(const Half& half, int t) const {
    const hn::Rebind<std::uint16_t, DF> d;
    const auto bits = Bits(d, half.at + t * kPanel);
    return hn::PromoteTo(DF(), hn::BitCast(hn::Rebind<hwy::float16_t, DF>(), bits));
  }
#if HWY_TARGET == HWY_AVX2
  HWY_INLINE void Rows(const Half (&halves)[kVectors], int t, VF (&w)[kVectors]) const {
    const hn::Full256<std::uint16_t> d;
    const hn::Half<decltype(d)> half;
    const hn::Rebind<hwy::float16_t, DF> real;
    const auto bits = Bits(d, halves[0].at + t * kPanel);
    w[0] = hn::PromoteTo(DF(), hn::BitCast(real, hn::LowerHalf(half, bits)));
    w[1] = hn::PromoteTo(DF(), hn::BitCast(real, hn::UpperHalf(half, bits)));
  }
#endif
};

// One row of all columns.
template <class Codes>
HWY_INLINE void RowsOf(const Codes& codes, const typename Codes::Half (&halves)[kVectors], int t,
                       VF (&w)[kVectors]) {
  if constexpr (requires { codes.Rows(halves, t, w); }) {
    codes.Rows(halves, t, w);
  } else {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) w[v] = codes.Row(halves[v], t);
  }
}

constexpr std::int64_t kAhead = 16;  // groups that are fetched ahead

// How codes become weights: by a factor; less a zero, then by a factor; or as they are, where factors are
// powers of two and the sums are in units of the block's factor, which is as exact.
enum class Scale { factor, zero, unit };

// A few rows of A by some panels. `a` has rows of whole groups; sums come out as [panel][row][16].
template <class Codes, Scale kScale, int Rows, int Panels>
HWY_NOINLINE void CodeStrip(const CodeView& view, std::int64_t panel, const float* HWY_RESTRICT a,
                            std::int64_t stride, float* HWY_RESTRICT sums) {
  const DF d;
  const Codes codes(view);
  VF sum[Panels][Rows][kVectors];
  HWY_UNROLL(4)
  for (int p = 0; p < Panels; ++p) {
    HWY_UNROLL(4)
    for (int r = 0; r < Rows; ++r) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) sum[p][r][v] = hn::Zero(d);
    }
  }
  const std::int64_t panel_bytes = view.groups * Codes::kBytes;
  const std::uint8_t* HWY_RESTRICT at = view.codes + panel * panel_bytes;
  const float* HWY_RESTRICT units =
      view.units + (kScale == Scale::unit ? panel * (view.blocks + 1) * kPanel : 0);
  const auto change_unit = [&](std::int64_t block) HWY_ATTR {
    HWY_UNROLL(4)
    for (int p = 0; p < Panels; ++p) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        const VF unit = hn::LoadU(d, units + (p * (view.blocks + 1) + block) * kPanel + v * kLanes);
        HWY_UNROLL(4)
        for (int r = 0; r < Rows; ++r) sum[p][r][v] = hn::Mul(sum[p][r][v], unit);
      }
    }
  };
  for (std::int64_t b = 0; b < view.blocks; ++b) {
    if (kScale == Scale::unit) change_unit(b);
    const std::int64_t scale = (panel * view.blocks + b) * kPanel;
    const float* HWY_RESTRICT factors = view.factors + scale;
    const float* HWY_RESTRICT zeros = view.zeros + (kScale == Scale::zero ? scale : 0);
    const std::int64_t first = b * view.block_groups, last = std::min(first + view.block_groups, view.groups);
    for (std::int64_t g = first; g < last; ++g) {
      const float* HWY_RESTRICT x = a + g * kGroupRows;
      HWY_UNROLL(4)
      for (int p = 0; p < Panels; ++p) {
        for (std::int64_t line = 0; line < Codes::kBytes; line += 64)
          __builtin_prefetch(at + p * panel_bytes + (g + kAhead) * Codes::kBytes + line);
      }
      HWY_UNROLL(8)
      for (int i = 0; i < 2 * Panels; ++i) {
        const int half = i / Panels, p = i % Panels;
        typename Codes::Half halves[kVectors];
        ANYBIT_FORGET(factors);
        HWY_UNROLL(4)
        for (int v = 0; v < kVectors; ++v)
          halves[v] = codes.Take(at + p * panel_bytes + g * Codes::kBytes, v, half);
        HWY_UNROLL(4)
        for (int t = 0; t < 4; ++t) {
          VF left[Rows], w[kVectors];
          HWY_UNROLL(4)
          for (int r = 0; r < Rows; ++r) left[r] = hn::Set(d, x[r * stride + half * 4 + t]);
          RowsOf(codes, halves, t, w);
          HWY_UNROLL(4)
          for (int v = 0; v < kVectors; ++v) {
            const std::int64_t column = p * view.blocks * kPanel + v * kLanes;
            if (kScale == Scale::zero) w[v] = hn::Sub(w[v], hn::LoadU(d, zeros + column));
            if (kScale != Scale::unit) w[v] = hn::Mul(w[v], hn::LoadU(d, factors + column));
            HWY_UNROLL(4)
            for (int r = 0; r < Rows; ++r) {
              sum[p][r][v] = hn::MulAdd(left[r], w[v], sum[p][r][v]);
              ANYBIT_PIN(sum[p][r][v]);
            }
          }
        }
      }
    }
  }
  if (kScale == Scale::unit) change_unit(view.blocks);
  HWY_UNROLL(4)
  for (int p = 0; p < Panels; ++p) {
    HWY_UNROLL(4)
    for (int r = 0; r < Rows; ++r) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v)
        hn::Store(sum[p][r][v], d, sums + (p * Rows + r) * kPanel + v * kLanes);
    }
  }
}

// A few rows: the codes are read once, in order.
template <class Codes, Scale kScale, int Rows, int Panels>
void FewRows(const CodeView& view, const FloatProduct& product, const float* a, std::int64_t stride,
             ThreadPool& pool) {
  struct Job {
    const CodeView& view;
    const FloatProduct& product;
    const float* a;
    std::int64_t stride, panels;
  } const job{view, product, a, stride, Ratio(product.n, kPanel)};
  const std::int64_t strip_macs = std::max<std::int64_t>(1, Rows * Panels * kPanel * product.k);
  pool.run(Ratio(job.panels, Panels), Ratio(kPartMacs, 4 * strip_macs),
           [&job](std::int64_t first, std::int64_t last) HWY_ATTR {
             HWY_ALIGN float sums[Rows * Panels * kPanel];
             for (std::int64_t p = first * Panels; p < std::min(last * Panels, job.panels); p += Panels) {
               if (p + Panels <= job.panels) {
                 CodeStrip<Codes, kScale, Rows, Panels>(job.view, p, job.a, job.stride, sums);
                 for (int i = 0; i < Panels; ++i)
                   FinishTile(job.product, sums + i * Rows * kPanel, 0, Rows, p + i);
                 continue;
               }
               for (std::int64_t i = p; i < job.panels; ++i) {
                 CodeStrip<Codes, kScale, Rows, 1>(job.view, i, job.a, job.stride, sums);
                 FinishTile(job.product, sums, 0, Rows, i);
               }
             }
           });
}

template <class Codes, Scale kScale>
void ByRows(const CodeView& view, const FloatProduct& product, const float* a, std::int64_t stride,
            ThreadPool& pool) {
  if (product.m == 1) return FewRows<Codes, kScale, 1, 2>(view, product, a, stride, pool);
  if (product.m == 2) return FewRows<Codes, kScale, 2, 1>(view, product, a, stride, pool);
  return FewRows<Codes, kScale, 3, 1>(view, product, a, stride, pool);
}

// The 8 rows of a group, 16 columns each.
template <class Codes, Scale kScale>
void DecodeGroup(const CodeView& view, std::int64_t panel, std::int64_t group, std::int64_t block,
                 float* HWY_RESTRICT to) {
  const DF d;
  const Codes codes(view);
  const std::int64_t scale = (panel * view.blocks + block) * kPanel;
  const std::uint8_t* at = view.codes + (panel * view.groups + group) * Codes::kBytes;
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    const VF factor = hn::LoadU(d, view.factors + scale + v * kLanes);
    HWY_UNROLL(2)
    for (int half = 0; half < 2; ++half) {
      const auto rows = codes.Take(at, v, half);
      HWY_UNROLL(4)
      for (int t = 0; t < 4; ++t) {
        VF w = codes.Row(rows, t);
        if (kScale == Scale::zero) w = hn::Sub(w, hn::LoadU(d, view.zeros + scale + v * kLanes));
        hn::StoreU(hn::Mul(w, factor), d, to + (half * 4 + t) * kPanel + v * kLanes);
      }
    }
  }
}

template <class Codes, Scale kScale>
void DecodePanel(const CodeView& view, std::int64_t panel, std::int64_t k, std::int64_t count, float* to) {
  HWY_ALIGN float part[kGroupRows * kPanel];
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t block = (k + done) / view.block, row = (k + done) % view.block;
    const std::int64_t end = std::min(view.k, (block + 1) * view.block) - block * view.block;
    const std::int64_t first = row % kGroupRows;
    const std::int64_t together = std::min({kGroupRows - first, end - row, count - done});
    const std::int64_t group = block * view.block_groups + row / kGroupRows;
    const bool whole = together == kGroupRows;
    DecodeGroup<Codes, kScale>(view, panel, group, block, whole ? to + done * kPanel : part);
    if (!whole) {
      std::memcpy(to + done * kPanel, part + first * kPanel,
                  static_cast<std::size_t>(together * kPanel) * sizeof(float));
    }
    done += together;
  }
}

// Calls body.template operator()<Codes, Scale>().
template <class Body>
HWY_INLINE void ForCodes(const CodeView& view, bool units, const Body& body) {
  const auto with = [&]<class Codes>() {
    if (view.zeros) return body.template operator()<Codes, Scale::zero>();
    if (units) return body.template operator()<Codes, Scale::unit>();
    body.template operator()<Codes, Scale::factor>();
  };
  switch (view.kind) {
    case CodeKind::nibbles:
      return with.template operator()<Nibbles>();
    case CodeKind::int8:
      return with.template operator()<Integers<std::int8_t>>();
    case CodeKind::uint8:
      return with.template operator()<Integers<std::uint8_t>>();
    case CodeKind::e4m3:
      return with.template operator()<Minifloats<true>>();
    case CodeKind::e5m2:
      return with.template operator()<Minifloats<false>>();
  }
}

void CodePanel(const CodeView& view, std::int64_t panel, std::int64_t k, std::int64_t count, float* to) {
  ForCodes(view, false,
           [&]<class Codes, Scale kScale>() { DecodePanel<Codes, kScale>(view, panel, k, count, to); });
}

void CodeRows(const CodeView& view, bool units, const FloatProduct& product, const float* a,
              std::int64_t stride, ThreadPool& pool) {
  ForCodes(view, units,
           [&]<class Codes, Scale kScale>() { ByRows<Codes, kScale>(view, product, a, stride, pool); });
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {
namespace {

HWY_EXPORT(CodePanel);
HWY_EXPORT(CodeRows);

constexpr std::int64_t kFewRows = 3;  // more are faster by decoded panels

// Rows of A with zeros where blocks are filled up to whole groups.
void pad_rows(const FloatProduct& product, const CodeView& view, float* to) {
  const std::int64_t stride = view.groups * kGroupRows;
  std::fill_n(to, product.m * stride, 0.0f);
  for (std::int64_t r = 0; r < product.m; ++r) {
    for (std::int64_t b = 0; b < view.blocks; ++b) {
      const std::int64_t first = b * view.block;
      std::copy_n(product.a.data + r * product.a.row_stride + first, std::min(view.block, view.k - first),
                  to + r * stride + b * view.block_groups * kGroupRows);
    }
  }
}

// Whether sums in units of any factor stay well inside the range of float32; factors are within 2^±40.
bool fits_units(const FloatProduct& product) {
  float largest = 0;
  bool numbers = true;
  for (std::int64_t r = 0; r < product.m; ++r) {
    const float* row = product.a.data + r * product.a.row_stride;
    for (std::int64_t k = 0; k < product.k; ++k) {
      largest = std::max(largest, std::fabs(row[k]));
      numbers = numbers && row[k] == row[k];
    }
  }
  return numbers && largest < 0x1p40f && (largest > 0x1p-40f || largest == 0);
}

}  // namespace

const float* PackedCodes::panel(std::int64_t index, std::int64_t k, std::int64_t count,
                                float* scratch) const {
  HWY_DYNAMIC_DISPATCH(CodePanel)(view_, index, k, count, scratch);
  return scratch;
}

bool PackedCodes::multiply(const FloatProduct& product, ThreadPool& pool) const {
  if (product.m > kFewRows || product.rows || product.a.column_stride != 1) return false;
  const float* a = product.a.data;
  std::int64_t stride = product.a.row_stride;
  if (view_.groups * kGroupRows != view_.k) {
    stride = view_.groups * kGroupRows;
    auto* padded = reinterpret_cast<float*>(gemm_scratch(product.m * stride * 4));
    pad_rows(product, view_, padded);
    a = padded;
  }
  HWY_DYNAMIC_DISPATCH(CodeRows)(view_, view_.units && fits_units(product), product, a, stride, pool);
  return true;
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
