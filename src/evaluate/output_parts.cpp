#include "evaluate/output_parts.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace anybit::evaluate {
namespace {

constexpr std::size_t kMostRuns = 8;
constexpr double kScaleGap = 2.5;        // difference of mean exponents of runs with different scales
constexpr double kFarApart = 5;          // of runs that alternate
constexpr double kLeastExplained = 0.2;  // share of the exponents' variance that a split has to explain
constexpr std::int64_t kLeastDecisions = 10;

ChannelSums sum_of(std::span<const ChannelSums> channels) {
  ChannelSums sum;
  for (const ChannelSums& one : channels) sum.add(one);
  return sum;
}

double spread(const ChannelSums& sums) { return sums.spread_around(sums.mean_exponent()); }

// Splits a run in two where the spread of exponents inside both halves is smallest, if their scales differ
// clearly; then goes on with the halves.
void split_by_scale(std::span<const ChannelSums> channels, ChannelRun run, std::vector<ChannelRun>& into) {
  const auto inside = channels.subspan(run.first, run.last - run.first + 1);
  ChannelSums left, right = sum_of(inside);
  std::vector<ChannelSums> suffix(inside.size());
  for (std::size_t i = inside.size(); i-- > 0;) {
    suffix[i] = inside[i];
    if (i + 1 < inside.size()) suffix[i].add(suffix[i + 1]);
  }
  const double whole = spread(right);
  std::size_t best = 0;
  double least = whole;
  for (std::size_t i = 1; i < inside.size(); ++i) {
    left.add(inside[i - 1]);
    const double here = spread(left) + spread(suffix[i]);
    const double gap = std::abs(left.mean_exponent() - suffix[i].mean_exponent());
    if (here < least && gap >= kScaleGap && here <= whole / 2) {
      least = here;
      best = i;
    }
  }
  if (best == 0) {
    run.sums = sum_of(inside);
    into.push_back(std::move(run));
    return;
  }
  split_by_scale(channels, {run.first, run.first + best - 1, run.probabilities, {}}, into);
  split_by_scale(channels, {run.first + best, run.last, run.probabilities, {}}, into);
}

// Runs of channels of one kind; channels of zeros belong to the run before them.
std::vector<ChannelRun> runs_by_kind(std::span<const ChannelSums> channels) {
  std::vector<ChannelRun> runs;
  std::size_t zeros = 0;  // before the first run
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const ChannelSums& one = channels[i];
    if (one.all_zero() || one.low > one.high) {
      if (runs.empty()) {
        ++zeros;
      } else {
        runs.back().last = i;
      }
    } else if (const bool kind = one.in_unit_interval(); runs.empty() || runs.back().probabilities != kind) {
      runs.push_back({i - (runs.empty() ? zeros : 0), i, kind, {}});
    } else {
      runs.back().last = i;
    }
  }
  return runs;
}

// The share of the variance of exponents that lies between the runs.
double explained(std::span<const ChannelRun> runs, const ChannelSums& whole) {
  double inside = 0;
  for (const ChannelRun& run : runs) inside += spread(run.sums);
  const double total = spread(whole);
  return total > 0 ? 1 - inside / total : 0;
}

// Whether the scales of two runs of different kinds differ too much for chance.
bool are_far_apart(std::span<const ChannelSums> channels, const ChannelRun& a, const ChannelRun& b) {
  const auto scale = [&](const ChannelRun& run) {
    return sum_of(channels.subspan(run.first, run.last - run.first + 1)).mean_exponent();
  };
  return std::abs(scale(a) - scale(b)) >= kFarApart;
}

ChannelRun one_run(std::span<const ChannelSums> channels) {
  ChannelRun run{0, channels.size() - 1, false, sum_of(channels)};
  run.probabilities = run.sums.in_unit_interval() && !run.sums.all_zero();
  return run;
}

void set_difference(const ChannelSums& sums, OutputPart& part) {
  Difference difference;
  sums.difference.fill(difference);
  part.count = difference.count;
  part.sqnr = difference.sqnr;
  part.cosine = difference.cosine;
}

double kept(const Decisions& one) {
  return 2.0 * static_cast<double>(one.both) /
         static_cast<double>(std::max<std::int64_t>(1, one.before + one.after));
}

// Of the thresholds with enough decisions the one where the models differ most; else the one with most
// decisions.
void set_decisions(const ChannelSums& sums, OutputPart& part) {
  part.kind = "probabilities";
  std::size_t chosen = kThresholds.size() - 1;  // the lowest
  for (std::size_t t = chosen; t-- > 0;) {
    const Decisions& one = sums.decisions[t];
    if (one.before + one.after >= kLeastDecisions && kept(one) <= kept(sums.decisions[chosen])) chosen = t;
  }
  part.threshold = kThresholds[chosen];
  part.before = sums.decisions[chosen].before;
  part.after = sums.decisions[chosen].after;
  part.both = sums.decisions[chosen].both;
}

OutputPart part_of(const std::string& output, const ChannelSums& sums, bool probabilities) {
  OutputPart part;
  part.output = output;
  if (!sums.any_finite()) return part;
  set_difference(sums, part);
  if (probabilities) set_decisions(sums, part);
  return part;
}

}  // namespace

std::vector<ChannelRun> split_channels(std::span<const ChannelSums> channels) {
  if (channels.empty()) return {};
  const std::vector<ChannelRun> kinds = runs_by_kind(channels);
  std::vector<ChannelRun> runs;
  // More runs alternate: by chance, as in a feature map, where neighbours have similar scales; or by design,
  // as coordinates and visibility of keypoints after a box and its score. These stay together.
  const bool alternate = kinds.size() > kMostRuns;
  for (std::size_t i = 0; i < (alternate ? 2 : kinds.size()); ++i) {
    if (kinds[i].probabilities) {
      runs.push_back(kinds[i]);
      runs.back().sums = sum_of(channels.subspan(kinds[i].first, kinds[i].last - kinds[i].first + 1));
    } else {
      split_by_scale(channels, kinds[i], runs);
    }
  }
  if (alternate) {
    const std::size_t first = kinds[2].first;
    runs.push_back({first, channels.size() - 1, false, sum_of(channels.subspan(first))});
  }
  ChannelRun whole = one_run(channels);
  if (alternate && are_far_apart(channels, kinds[0], kinds[1])) return runs;
  if (alternate || runs.size() < 2 || runs.size() > kMostRuns ||
      explained(runs, whole.sums) < kLeastExplained) {
    return {std::move(whole)};
  }
  return runs;
}

void OutputParts::choose_axes(std::size_t rank) {
  rank_ = rank;
  started_ = true;
  if (rank < 2) return;
  // Channels are along axis 1 or along the last one.
  for (const std::size_t axis : {std::size_t{1}, rank - 1}) {
    if (!axes_.empty() && axes_.back().axis() == axis) continue;
    axes_.emplace_back(axis);
    rows_.emplace_back(axis);
  }
}

void OutputParts::add(std::span<const std::int64_t> dims, std::span<const float> reference,
                      std::span<const float> other) {
  if (!started_) choose_axes(dims.size());
  same_rank_ = same_rank_ && dims.size() == rank_;
  whole_.add(reference, other);
  if (!same_rank_ || reference.empty()) return;
  for (AxisSums& axis : axes_) axis.add(dims, reference, other);
  for (ClassRows& rows : rows_) rows.add(dims, reference, other);
}

std::vector<OutputPart> OutputParts::parts(const std::string& output) const {
  if (!started_) return {};
  const auto whole = [&] { return part_of(output, whole_, whole_.in_unit_interval() && !whole_.all_zero()); };
  if (!same_rank_) return {whole()};
  for (const ClassRows& rows : rows_) {
    if (!rows.likely()) continue;
    OutputPart part = part_of(output, whole_, false);
    part.kind = "classes";
    part.axis = static_cast<std::int64_t>(rows.axis());
    part.rows = rows.telling_rows();
    part.agreed = rows.telling_agreed();
    part.divergence = rows.divergence();
    return {part};
  }
  const AxisSums* chosen = nullptr;
  std::vector<ChannelRun> runs;
  double best = 0;
  for (const AxisSums& axis : axes_) {
    std::vector<ChannelRun> here = split_channels(axis.channels());
    if (here.size() < 2) continue;
    const double share = explained(here, whole_);
    if (share <= best) continue;
    best = share;
    chosen = &axis;
    runs = std::move(here);
  }
  if (!chosen) return {whole()};
  std::vector<OutputPart> parts;
  for (const ChannelRun& run : runs) {
    OutputPart part = part_of(output, run.sums, run.probabilities);
    part.axis = static_cast<std::int64_t>(chosen->axis());
    part.first = static_cast<std::int64_t>(run.first);
    part.last = static_cast<std::int64_t>(run.last);
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace anybit::evaluate
