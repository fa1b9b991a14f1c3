// ONNX Runtime's EmbedLayerNormalization (com.microsoft): adds word, position and segment embeddings and
// normalizes their sum.
#include "ops/check.hpp"
#include "ops/norm/stats.hpp"
#include "ops/reals.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

enum Input : std::size_t {
  kIds,
  kSegmentIds,
  kWords,
  kPositions,
  kSegments,
  kGamma,
  kBeta,
  kMask,
  kPositionIds
};

Result<Values> infer(const Call& call) {
  Values values = unknown_outputs(call);
  const auto& ids = call.in(kIds).shape;
  const auto& words = call.in(kWords).shape;
  if (values.empty() || !ids || !words || ids->size() != 2 || words->size() != 2) return values;
  values[0] = tensor(call.in(kWords).type, Shape{(*ids)[0], (*ids)[1], (*words)[1]});
  if (values.size() > 1) values[1] = tensor(ElementType::int32, Shape{(*ids)[0]});
  if (values.size() > 2) values[2] = values[0];
  return values;
}

// An embedding table with rows of `n`, and the indices of the rows to look up.
template <class C>
struct Lookup {
  const C* rows = nullptr;
  std::int64_t count = 0;
  const std::int32_t* ids = nullptr;
  std::int64_t period = 1;  // ids repeat with this period

  std::int64_t id(std::int64_t i) const { return ids ? ids[i % period] : i % period; }
};

template <class C>
Result<Lookup<C>> lookup_of(Frame& frame, std::size_t table, std::size_t ids, std::int64_t n) {
  const Array& rows = frame.in(table);
  if (rows.rank() != 2 || rows.dim(1) != n) {
    return wrong(fmt::format("input {} is {}", table, to_string(rows)), fmt::format("rows of {}", n));
  }
  const Array& batch = frame.in(kIds);
  Lookup<C> lookup{TRY(reals_in<C>(frame, rows)).data(), rows.dim(0), nullptr, batch.dim(1)};
  if (frame.has(ids)) {
    const Array& given = frame.in(ids);
    const bool fits =
        given.dims() == batch.dims() || (ids == kPositionIds && given.dims() == Dims{1, batch.dim(1)});
    if (given.type() != ElementType::int32 || !fits) {
      return wrong(fmt::format("input {} is {}", ids, to_string(given)),
                   fmt::format("int32{}", to_string(batch.dims())));
    }
    lookup.ids = given.data<std::int32_t>();
    lookup.period = given.count();
  }
  if (only_checks(frame)) return lookup;
  for (std::int64_t i = 0; i < lookup.period; ++i) {
    if (lookup.id(i) < 0 || lookup.id(i) >= lookup.count) {
      return wrong(fmt::format("input {} has no row {}", table, lookup.id(i)),
                   fmt::format("0 to {}", lookup.count - 1));
    }
  }
  return lookup;
}

// Number of unmasked words per sentence.
Result<void> count_words(Frame& frame) {
  const Dims& ids = frame.in(kIds).dims();
  Array* out = TRY(frame.out(1, ElementType::int32, {ids[0]}));
  auto* counts = out->mutable_data<std::int32_t>();
  std::fill_n(counts, ids[0], 0);
  if (!frame.has(kMask)) return {};
  for (std::int64_t i = 0; i < ids.count(); ++i)
    counts[i / ids[1]] += frame.in(kMask).data<std::int32_t>()[i] == 1;
  return {};
}

template <class C>
Result<void> run_in(Frame& frame) {
  const Dims& ids = frame.in(kIds).dims();
  const std::int64_t n = frame.in(kWords).dim(1);
  const ElementType type = frame.in(kWords).type();
  const auto words = TRY(lookup_of<C>(frame, kWords, kIds, n));
  const auto positions = TRY(lookup_of<C>(frame, kPositions, kPositionIds, n));
  const bool segmented = frame.has(kSegmentIds) && frame.has(kSegments);
  const auto segments = segmented ? TRY(lookup_of<C>(frame, kSegments, kSegmentIds, n)) : Lookup<C>();
  TRY(expect_dims(frame, kGamma, {n}, "gamma"));
  TRY(expect_dims(frame, kBeta, {n}, "beta"));
  const C* gamma = TRY(reals_in<C>(frame, frame.in(kGamma))).data();
  const C* beta = TRY(reals_in<C>(frame, frame.in(kBeta))).data();
  const Dims dims{ids[0], ids[1], n};
  auto to = TRY(RealOutput<C>::make(frame, TRY(frame.out(0, type, dims))));
  std::optional<RealOutput<C>> sums;
  if (frame.wants(2)) sums = TRY(RealOutput<C>::make(frame, TRY(frame.out(2, type, dims))));
  const double epsilon = frame.real("epsilon", 1e-12);
  parallel(frame, ids.count(), 2 * static_cast<double>(n), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t r = first; r < last; ++r) {
      C* sum = (sums ? sums->data() : to.data()) + r * n;
      const C* word = words.rows + words.id(r) * n;
      const C* position = positions.rows + positions.id(r) * n;
      for (std::int64_t i = 0; i < n; ++i) sum[i] = word[i] + position[i];
      const C* segment = segmented ? segments.rows + segments.id(r) * n : nullptr;
      for (std::int64_t i = 0; segment && i < n; ++i) sum[i] += segment[i];
      const auto [mean, variance] = row_moments(sum, n);
      normalize_row(sum, n, mean, 1 / std::sqrt(variance + epsilon), gamma, beta, to.data() + r * n);
    }
  });
  to.finish();
  if (sums) sums->finish();
  return {};
}

Result<void> run(Frame& frame) {
  for (const std::size_t i : {kPositions, kGamma, kBeta}) {
    if (!frame.has(i)) return wrong(fmt::format("input {} is missing", static_cast<int>(i)));
  }
  if (frame.in(kIds).rank() != 2) {
    return wrong(fmt::format("input 0 is {}", to_string(frame.in(kIds))), "batch, sequence");
  }
  if (frame.in(kWords).rank() != 2) {
    return wrong(fmt::format("input 2 is {}", to_string(frame.in(kWords))), "words, hidden size");
  }
  if (frame.wants(1) && frame.has(kMask)) {
    TRY(expect_dims(frame, kMask, frame.in(kIds).dims(), "mask"));
    if (frame.in(kMask).type() != ElementType::int32) return wrong_type(frame, kMask);
  }
  if (frame.wants(1) && !only_checks(frame)) TRY(count_words(frame));
  return wants_double(frame.in(kWords).type()) ? run_in<double>(frame) : run_in<float>(frame);
}

}  // namespace

std::span<const Descriptor> embed_layer_norm_descriptors() {
  static const Descriptor all[] = {
      {.name = "EmbedLayerNormalization",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer,
       .run = run,
       .traits = {.role = Traits::Role::compute,
                  .data = {},
                  .weights = {{kWords, first_axis}, {kPositions, first_axis}, {kSegments, first_axis}}}}};
  return all;
}

}  // namespace anybit::ops
