#include "ops/move/index_tuples.hpp"

#include "ops/check.hpp"

namespace anybit::ops {
namespace {

template <class Index>
Result<void> find_places(const Array& data, std::span<const Index> indices, std::size_t batch,
                         std::size_t tuple, std::span<std::int64_t> places) {
  const Dims strides = strides_of(data.dims());
  const std::int64_t batches = data.dims().product(0, batch);
  const auto per_batch = static_cast<std::int64_t>(places.size()) / std::max<std::int64_t>(batches, 1);
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::int64_t at = 0;
    if (batch > 0) at = static_cast<std::int64_t>(i) / per_batch * strides[batch - 1];
    for (std::size_t k = 0; k < tuple; ++k) {
      const Index index = indices[i * tuple + k];
      const std::int64_t size = data.dim(batch + k), place = place_of(index, size);
      if (place < 0) return index_outside(index, size);
      at += place * strides[batch + k];
    }
    places[i] = at;
  }
  return {};
}

}  // namespace

Result<IndexTuples> index_tuples(Frame& frame, std::int64_t batch_dims) {
  const Array& data = frame.in(0);
  const Array& indices = frame.in(1);
  const auto rank = static_cast<std::int64_t>(data.rank());
  const auto batch = static_cast<std::size_t>(batch_dims);
  bool fits = indices.rank() > 0 && batch_dims >= 0 &&
              batch_dims < static_cast<std::int64_t>(indices.rank()) &&
              indices.dims().back() <= rank - batch_dims;
  for (std::size_t i = 0; fits && i < batch; ++i) fits = data.dim(i) == indices.dim(i);
  if (!fits) {
    return wrong(fmt::format("indices {} do not fit {} with {} batch axes", to_string(indices.dims()),
                             to_string(data.dims()), batch_dims),
                 "the last axis of the indices names axes of the data, after those of the batch");
  }
  const auto tuple = static_cast<std::size_t>(indices.dims().back());
  IndexTuples tuples;
  tuples.used = batch + tuple;
  tuples.slice = data.dims().product(tuples.used, data.rank());
  if (!for_index(indices.type(), [](auto) {})) return wrong_type(frame, 1);
  const std::int64_t count = indices.dims().product(0, indices.rank() - 1);
  for (std::size_t i = batch; count > 0 && i < tuples.used; ++i) {
    if (data.dim(i) == 0) return index_outside(0, 0);
  }
  std::vector<std::int64_t> checked;
  if (only_checks(frame) && has_elements(indices)) checked.resize(static_cast<std::size_t>(count));
  const auto places = only_checks(frame) ? std::span(checked) : TRY(frame.scratch_of<std::int64_t>(count));
  Result<void> found;
  for_index(indices.type(), [&]<class Index>(Index) {
    found = find_places<Index>(data, indices.elements<Index>(), batch, tuple, places);
  });
  TRY(found);
  if (only_checks(frame)) return tuples;
  tuples.places = places;
  return tuples;
}

}  // namespace anybit::ops
