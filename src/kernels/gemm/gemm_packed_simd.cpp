// GEMM by packed codes: decodes groups of eight rows and sixteen columns at a time.
#include "kernels/gemm/gemm_packed.hpp"

#include <cmath>
#include <type_traits>

#include "kernels/choose.hpp"
#include "kernels/gemm/gemm_packed_avx512.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_packed_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/gemm/gemm_epilogue-inl.h"

// Makes the compiler forget the target of a pointer and reload it from memory.
#undef ANYBIT_FORGET
#if defined(__GNUC__)
#define ANYBIT_FORGET(pointer) asm volatile("" : "+r"(pointer))
#else
#define ANYBIT_FORGET(pointer) static_cast<void>(pointer)
#endif

#ifndef ANYBIT_KERNELS_PACKED_CODES_ONCE_
#define ANYBIT_KERNELS_PACKED_CODES_ONCE_
namespace anybit::kernels {
struct PackedGemmWork {
  const CodeView& view;
  bool units;  // sums are in units of the block's factor
  const FloatGemmWork& work;
  const float* a;  // its rows, with blocks padded to full groups
  std::int64_t stride;
};
}  // namespace anybit::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

// Each storage of codes decodes a group, [8 rows][16 columns], to floats in two steps: Decode() does the part
// that is best done for the whole group, and Rows() makes two rows of floats from its result, which may be
// the codes themselves. Widening conversions from memory take half the time of those from registers, which
// need a shuffle of the upper half first.
template <class T>
class Integers {
 public:
  using Element = T;
  static constexpr std::int64_t kBytes = 128;  // per group
  explicit Integers(const CodeView&) {}
  HWY_INLINE const T* Decode(const std::uint8_t* group, T*) const {
    return reinterpret_cast<const T*>(group);
  }
  HWY_INLINE void Rows(const T* elements, int pair, VF (&to)[2][kVectors]) const {
    HWY_UNROLL(4)
    for (int i = 0; i < 2 * kVectors; ++i) {
      const T* from = elements + 2 * pair * kPanel + i * kLanes;
      to[i / kVectors][i % kVectors] =
          hn::ConvertTo(DF(), hn::PromoteTo(DI(), hn::LoadU(hn::Rebind<T, DF>(), from)));
    }
  }
};

// 8-bit integers are exact in the upper 16 bits of a float, whose two bytes are looked up: no conversion is
// needed. 32 bytes hold two pairs of rows, one in the lower and one in the upper nibbles, ordered such that
// interleaving the looked-up bytes gives columns in order (place_in_group).
class Nibbles {
 public:
  using Element = std::uint8_t;
  static constexpr std::int64_t kBytes = 64;
  explicit Nibbles(const CodeView& view) : lower_(view.lower), upper_(view.upper) {}
  HWY_INLINE const Element* Decode(const std::uint8_t* group, Element*) const { return group; }
#if HWY_TARGET == HWY_SCALAR
  void Rows(const Element* elements, int pair, VF (&to)[2][kVectors]) const {
    for (int i = 0; i < 32; ++i) {
      const int code = elements[pair / 2 * 32 + i] >> pair % 2 * 4 & 15;
      const int half = i / 8, column = half % 2 * 8 + half / 2 * 4 + i % 8 / 2;
      const auto bits = static_cast<std::uint32_t>(upper_[code] << 8 | lower_[code]) << 16;
      to[i % 2][column] = hn::BitCast(DF(), hn::Set(hn::RebindToUnsigned<DF>(), bits));
    }
  }
#else
  HWY_INLINE void Rows(const Element* elements, int pair, VF (&to)[2][kVectors]) const {
    const hn::Repartition<std::uint8_t, DF> d;
    const hn::Repartition<std::uint16_t, DF> wide;
    constexpr int kParts = 32 / static_cast<int>(hn::MaxLanes(d));
    static_assert(2 * kParts == kVectors, "interleaving is within 16 bytes");
    HWY_UNROLL(2)
    for (int i = 0; i < kParts; ++i) {
      auto codes = hn::LoadU(d, elements + pair / 2 * 32 + i * 32 / kParts);
      if (pair % 2 != 0) codes = hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(wide, codes)));
      codes = hn::And(codes, hn::Set(d, 15));
      const auto lower = hn::TableLookupBytes(hn::LoadDup128(d, lower_), codes);
      const auto upper = hn::TableLookupBytes(hn::LoadDup128(d, upper_), codes);
      Spread(hn::InterleaveLower(d, lower, upper), to[0][i], to[1][i]);
      Spread(hn::InterleaveUpper(d, lower, upper), to[0][i + kParts], to[1][i + kParts]);
    }
  }
#endif

 private:
  // Two vectors of floats whose upper 16 bits are the lower and the upper halves of these lanes.
  template <class V>
  static HWY_INLINE void Spread(V halves, VF& first, VF& second) {
    const hn::RebindToUnsigned<DF> d;
    const auto both = hn::BitCast(d, halves);
    first = hn::BitCast(DF(), hn::ShiftLeft<16>(both));
    second = hn::BitCast(DF(), hn::And(both, hn::Set(d, 0xFFFF0000)));
  }
  const std::uint8_t *lower_, *upper_;
};

// float8 is float16 with zero low bits; e4m3 has one exponent bit less, so its values come out divided by
// 256. The bytes of two rows are interleaved.
template <bool E4m3>
class Minifloats {
 public:
  using Element = hwy::float16_t;
  static constexpr std::int64_t kBytes = 128;
  explicit Minifloats(const CodeView&) {}
  HWY_INLINE const Element* Decode(const std::uint8_t* HWY_RESTRICT group, Element* HWY_RESTRICT to) const {
    const hn::CappedTag<std::uint16_t, kPanel> d;
    auto* bits = reinterpret_cast<std::uint16_t*>(to);
    HWY_UNROLL(4)
    for (std::size_t pair = 0; pair < kGroupRows / 2; ++pair) {
      HWY_UNROLL(4)
      for (std::size_t i = 0; i < kPanel; i += hn::MaxLanes(d)) {
        const auto* from = reinterpret_cast<const std::uint16_t*>(group) + pair * kPanel + i;
        const auto codes = hn::LoadU(d, from);
        hn::Store(Spread(d, hn::ShiftLeft<8>(codes)), d, bits + 2 * pair * kPanel + i);
        hn::Store(Spread(d, hn::And(codes, hn::Set(d, 0xFF00))), d, bits + (2 * pair + 1) * kPanel + i);
      }
    }
    return to;
  }
  HWY_INLINE void Rows(const Element* elements, int pair, VF (&to)[2][kVectors]) const {
    HWY_UNROLL(4)
    for (int i = 0; i < 2 * kVectors; ++i) {
      const Element* from = elements + 2 * pair * kPanel + i * kLanes;
      to[i / kVectors][i % kVectors] = hn::PromoteTo(DF(), hn::LoadU(hn::Rebind<Element, DF>(), from));
    }
  }

 private:
  template <class D>
  static HWY_INLINE hn::Vec<D> Spread(D d, hn::Vec<D> bits) {
    if (!E4m3) return bits;
    const auto apart = hn::ShiftRight<1>(hn::BitCast(hn::RebindToSigned<D>(), bits));
    return hn::And(hn::BitCast(d, apart), hn::Set(d, 0xBFFF));
  }
};

constexpr std::int64_t kAhead = 16;  // prefetch distance, in groups

// A few rows of A by some panels. `a` has rows of full groups; sums are [panel][row][16].
template <class Codes, CodeScale kScale, int Rows, int Panels>
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
      view.units + (kScale == CodeScale::unit ? panel * (view.blocks + 1) * kPanel : 0);
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
  HWY_ALIGN typename Codes::Element buffer[Panels][kGroupRows * kPanel];
  for (std::int64_t b = 0; b < view.blocks; ++b) {
    if (kScale == CodeScale::unit) change_unit(b);
    VF factor[Panels][kVectors], zero[Panels][kVectors];
    HWY_UNROLL(4)
    for (int p = 0; p < Panels; ++p) {
      const std::int64_t scale = ((panel + p) * view.blocks + b) * kPanel;
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        if (kScale != CodeScale::unit) factor[p][v] = hn::LoadU(d, view.factors + scale + v * kLanes);
        if (kScale == CodeScale::zero) zero[p][v] = hn::LoadU(d, view.zeros + scale + v * kLanes);
      }
    }
    const std::int64_t first = b * view.block_groups, last = std::min(first + view.block_groups, view.groups);
    for (std::int64_t g = first; g < last; ++g) {
      const float* HWY_RESTRICT x = a + g * kGroupRows;
      const typename Codes::Element* elements[Panels];
      HWY_UNROLL(4)
      for (int p = 0; p < Panels; ++p) {
        const std::uint8_t* group = at + p * panel_bytes + g * Codes::kBytes;
        for (std::int64_t line = 0; line < Codes::kBytes; line += 64)
          __builtin_prefetch(group + kAhead * Codes::kBytes + line);
        elements[p] = codes.Decode(group, buffer[p]);
        ANYBIT_FORGET(elements[p]);
      }
      HWY_UNROLL(4)
      for (int pair = 0; pair < kGroupRows / 2; ++pair) {
        HWY_UNROLL(4)
        for (int p = 0; p < Panels; ++p) {
          VF weights[2][kVectors];
          codes.Rows(elements[p], pair, weights);
          HWY_UNROLL(2)
          for (int t = 0; t < 2; ++t) {
            HWY_UNROLL(4)
            for (int v = 0; v < kVectors; ++v) {
              VF w = weights[t][v];
              if (kScale == CodeScale::zero) w = hn::Sub(w, zero[p][v]);
              if (kScale != CodeScale::unit) w = hn::Mul(w, factor[p][v]);
              HWY_UNROLL(4)
              for (int r = 0; r < Rows; ++r) {
                const VF left = hn::Set(d, x[r * stride + 2 * pair + t]);
                sum[p][r][v] = hn::MulAdd(left, w, sum[p][r][v]);
                ANYBIT_PIN(sum[p][r][v]);
              }
            }
          }
        }
      }
    }
  }
  if (kScale == CodeScale::unit) change_unit(view.blocks);
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

template <class Codes, CodeScale kScale, int Rows, int Panels>
void Strip(const CodeView& view, std::int64_t panel, const float* a, std::int64_t stride, float* sums) {
  if (view.wide) return multiply_nibbles_avx512(Rows, Panels, {view, kScale, panel, a, stride, sums});
  CodeStrip<Codes, kScale, Rows, Panels>(view, panel, a, stride, sums);
}

// A few rows: the codes are read once, in order.
template <class Codes, CodeScale kScale, int Rows, int Panels>
void FewRows(const CodeView& view, const FloatGemmWork& work, const float* a, std::int64_t stride,
             ThreadPool& pool) {
  static_assert(Rows <= kMostRows);
  struct Job {
    const CodeView& view;
    const FloatGemmWork& work;
    const float* a;
    std::int64_t stride, panels;
  } const job{view, work, a, stride, Ratio(work.n, kPanel)};
  const std::int64_t strip_macs = std::max<std::int64_t>(1, Rows * Panels * kPanel * work.k);
  pool.run(Ratio(job.panels, Panels), Ratio(kPartMacs, 4 * strip_macs),
           [&job](std::int64_t first, std::int64_t last) HWY_ATTR {
             HWY_ALIGN float sums[Rows * Panels * kPanel];
             for (std::int64_t p = first * Panels; p < std::min(last * Panels, job.panels); p += Panels) {
               if (p + Panels <= job.panels) {
                 Strip<Codes, kScale, Rows, Panels>(job.view, p, job.a, job.stride, sums);
                 for (int i = 0; i < Panels; ++i)
                   FinishTile(job.work, sums + i * Rows * kPanel, 0, Rows, p + i);
                 continue;
               }
               for (std::int64_t i = p; i < job.panels; ++i) {
                 Strip<Codes, kScale, Rows, 1>(job.view, i, job.a, job.stride, sums);
                 FinishTile(job.work, sums, 0, Rows, i);
               }
             }
           });
}

template <class Codes, CodeScale kScale>
void ByRows(const CodeView& view, const FloatGemmWork& work, const float* a, std::int64_t stride,
            ThreadPool& pool) {
  // As many panels as registers allow, because the sums of one row depend on each other.
  constexpr int kPanels = kScale != CodeScale::unit ? 2 : std::is_same_v<Codes, Nibbles> ? 3 : 4;
  if (work.m == 1) return FewRows<Codes, kScale, 1, kPanels>(view, work, a, stride, pool);
  if (work.m == 2) return FewRows<Codes, kScale, 2, 1>(view, work, a, stride, pool);
  return FewRows<Codes, kScale, 3, 1>(view, work, a, stride, pool);
}

// Decodes the 8 rows of a group, 16 columns each.
template <class Codes, CodeScale kScale>
void DecodeGroup(const CodeView& view, std::int64_t panel, std::int64_t group, std::int64_t block,
                 float* HWY_RESTRICT to) {
  const DF d;
  const Codes codes(view);
  const std::int64_t scale = (panel * view.blocks + block) * kPanel;
  if (view.wide) return decode_nibbles_avx512(view, panel, group, block, to);
  HWY_ALIGN typename Codes::Element buffer[kGroupRows * kPanel];
  const auto* elements = codes.Decode(view.codes + (panel * view.groups + group) * Codes::kBytes, buffer);
  HWY_UNROLL(4)
  for (int pair = 0; pair < kGroupRows / 2; ++pair) {
    VF weights[2][kVectors];
    codes.Rows(elements, pair, weights);
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      const VF factor = hn::LoadU(d, view.factors + scale + v * kLanes);
      HWY_UNROLL(2)
      for (int t = 0; t < 2; ++t) {
        VF w = weights[t][v];
        if (kScale == CodeScale::zero) w = hn::Sub(w, hn::LoadU(d, view.zeros + scale + v * kLanes));
        hn::StoreU(hn::Mul(w, factor), d, to + (2 * pair + t) * kPanel + v * kLanes);
      }
    }
  }
}

template <class Codes, CodeScale kScale>
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
    if (view.zeros) return body.template operator()<Codes, CodeScale::zero>();
    if (units) return body.template operator()<Codes, CodeScale::unit>();
    body.template operator()<Codes, CodeScale::factor>();
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
           [&]<class Codes, CodeScale kScale>() { DecodePanel<Codes, kScale>(view, panel, k, count, to); });
}

void CodeRows(const PackedGemmWork& all, ThreadPool& pool) {
  ForCodes(all.view, all.units, [&]<class Codes, CodeScale kScale>() {
    ByRows<Codes, kScale>(all.view, all.work, all.a, all.stride, pool);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {
namespace {

HWY_EXPORT(CodePanel);

bool takes_16_bits(const PackedGemmWork& all) { return all.view.wide; }

constexpr std::int64_t kFewRows = 3;  // above that, decoded panels are faster

// Copies rows of A, with blocks padded to full groups by zeros.
void pad_rows(const FloatGemmWork& work, const CodeView& view, float* to) {
  const std::int64_t stride = view.groups * kGroupRows;
  std::fill_n(to, work.m * stride, 0.0f);
  for (std::int64_t r = 0; r < work.m; ++r) {
    for (std::int64_t b = 0; b < view.blocks; ++b) {
      const std::int64_t first = b * view.block;
      std::copy_n(work.a.data + r * work.a.row_stride + first, std::min(view.block, view.k - first),
                  to + r * stride + b * view.block_groups * kGroupRows);
    }
  }
}

// Whether sums in units of any factor stay well within float32's range; the factors of a column are within
// 2^24 of each other. Zeros are fine.
bool fits_units(const FloatGemmWork& work) {
  constexpr float kMost = 0x1p60f, kLeast = 0x1p-60f;
  for (std::int64_t r = 0; r < work.m; ++r) {
    const float* row = work.a.data + r * work.a.row_stride;
    bool fits = true;
    for (std::int64_t k = 0; k < work.k; ++k) {
      const float size = std::fabs(row[k]);
      fits &= static_cast<bool>((size < kMost) & ((size > kLeast) | (size == 0)));
    }
    if (!fits) return false;
  }
  return true;
}

}  // namespace

std::span<const Descriptor> gemm_packed_simd_descriptors() {
  using enum Instructions;
  constexpr std::string_view kTypes = "float32 by 4 or 8 bits", kTakes = "1 to 3 rows";
  static const Descriptor all[] = {
      {"16 lanes", "float32 by 4 bits", "1 to 3 rows, packed for it", avx512, false, 0,
       PackedGemm{HWY_CHOOSE_AVX2(CodeRows), takes_16_bits}},
      {"decoded", kTypes, kTakes, avx2, false, 0, PackedGemm{HWY_CHOOSE_AVX2(CodeRows)}},
      {"decoded", kTypes, kTakes, baseline, true, 0, PackedGemm{HWY_STATIC_DISPATCH(CodeRows)}},
  };
  return all;
}

const float* PackedCodes::panel(std::int64_t index, std::int64_t k, std::int64_t count,
                                float* scratch) const {
  HWY_DYNAMIC_DISPATCH(CodePanel)(view_, index, k, count, scratch);
  return scratch;
}

bool PackedCodes::multiply(const FloatGemmWork& work, ThreadPool& pool) const {
  if (work.m > kFewRows || work.rows || work.a.column_stride != 1) return false;
  const float* a = work.a.data;
  std::int64_t stride = work.a.row_stride;
  if (view_.groups * kGroupRows != view_.k) {
    stride = view_.groups * kGroupRows;
    auto* padded = reinterpret_cast<float*>(gemm_scratch(work.m * stride * 4));
    pad_rows(work, view_, padded);
    a = padded;
  }
  const PackedGemmWork all{view_, view_.units && fits_units(work), work, a, stride};
  choose<PackedGemm>(all).run(all, pool);
  return true;
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
