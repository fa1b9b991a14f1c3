// RotaryEmbedding: rotates pairs of elements of each head by a position-dependent angle. ONNX: -23; ONNX
// Runtime's operator has its inputs in another order, and one position may be the start of every sequence.
#include "ops/check.hpp"
#include "ops/reals.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// Input indices, which differ between the operators.
struct Ports {
  std::size_t cosines, sines, positions;
};

struct Sizes {
  std::int64_t batch = 0, heads = 0, length = 0, size = 0, turned = 0;
  bool heads_first = false;
};

Result<Sizes> sizes_of(const Frame& frame, const Ports& ports) {
  const Dims& x = frame.in(0).dims();
  Sizes s;
  s.turned = frame.integer("rotary_embedding_dim", 0);
  const std::int64_t heads = frame.integer("num_heads", 0);
  if (x.size() == 4) {
    s = {x[0], x[1], x[2], x[3], s.turned, true};
  } else if (x.size() == 3) {
    // Without num_heads, ONNX Runtime takes the head size from the cache.
    const Dims& cache = frame.in(ports.cosines).dims();
    const std::int64_t size = heads > 0 ? x[2] / heads : cache.empty() ? 0 : 2 * cache.back();
    if (size < 1 || x[2] % size != 0)
      return wrong(fmt::format("num_heads {} does not divide {}", heads, to_string(x)));
    s = {x[0], x[2] / size, x[1], size, s.turned, false};
  } else {
    return wrong(fmt::format("input 0 is {}", to_string(frame.in(0))), "rank 3 or 4");
  }
  if (s.turned == 0) s.turned = s.size;
  if (s.turned < 0 || s.turned > s.size || s.turned % 2 != 0) {
    return wrong(fmt::format("rotary_embedding_dim is {}", s.turned),
                 fmt::format("an even number up to {}", s.size));
  }
  return s;
}

// The cache row of each position.
struct Positions {
  const std::int64_t* given = nullptr;
  bool first_only = false;  // `given` is the first position of every sequence
  std::int64_t length = 0;

  std::int64_t row(std::int64_t b, std::int64_t s) const {
    if (first_only) return given[0] + s;
    return given ? given[b * length + s] : b * length + s;
  }
};

Result<Positions> positions_of(const Frame& frame, const Ports& ports, const Sizes& s) {
  const Array& cosines = frame.in(ports.cosines);
  Positions positions{nullptr, false, s.length};
  const std::int64_t half = s.turned / 2;
  if (frame.has(ports.positions)) {
    const Array& given = frame.in(ports.positions);
    if (given.type() != ElementType::int64) return wrong_type(frame, ports.positions);
    positions.given = given.data<std::int64_t>();
    positions.first_only = given.count() == 1 && !(given.dims() == Dims{s.batch, s.length});
    if (!positions.first_only) TRY(expect_dims(frame, ports.positions, {s.batch, s.length}, "position_ids"));
    TRY(expect_dims(frame, ports.cosines, {cosines.rank() == 0 ? 0 : cosines.dim(0), half}, "cos_cache"));
  } else {
    TRY(expect_dims(frame, ports.cosines, {s.batch, s.length, half}, "cos_cache"));
  }
  TRY(expect_dims(frame, ports.sines, cosines.dims(), "sin_cache"));
  const bool known = positions.given && has_elements(frame.in(ports.positions));
  for (std::int64_t i = 0; known && i < (positions.first_only ? 1 : s.batch * s.length); ++i) {
    const std::int64_t last = positions.first_only ? s.length - 1 : 0;
    if (positions.given[i] < 0 || positions.given[i] > cosines.dim(0) - 1 - last) {
      return wrong(fmt::format("position {} is not in the caches", positions.given[i]),
                   fmt::format("0 to {}", cosines.dim(0) - 1 - last));
    }
  }
  return positions;
}

template <class C>
void turn(const C* x, const C* cosines, const C* sines, const Sizes& s, bool interleaved, C* y) {
  const std::int64_t half = s.turned / 2;
  for (std::int64_t i = 0; i < half; ++i) {
    const std::int64_t a = interleaved ? 2 * i : i, b = interleaved ? 2 * i + 1 : half + i;
    const C real = x[a], imaginary = x[b];
    y[a] = cosines[i] * real - sines[i] * imaginary;
    y[b] = sines[i] * real + cosines[i] * imaginary;
  }
  std::copy(x + s.turned, x + s.size, y + s.turned);
}

template <class C>
Result<void> run_in(Frame& frame, const Ports& ports) {
  const Sizes s = TRY(sizes_of(frame, ports));
  const Positions positions = TRY(positions_of(frame, ports, s));
  const auto x = TRY(reals_in<C>(frame, frame.in(0)));
  const C* cosines = TRY(reals_in<C>(frame, frame.in(ports.cosines))).data();
  const C* sines = TRY(reals_in<C>(frame, frame.in(ports.sines))).data();
  auto y = TRY(RealOutput<C>::make(frame, TRY(frame.out(0, frame.in(0).type(), frame.in(0).dims()))));
  const bool interleaved = frame.flag("interleaved");
  const double cost = 2 * static_cast<double>(s.size);
  parallel(frame, s.batch * s.heads * s.length, cost, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t b = i / (s.heads * s.length);
      const std::int64_t position = s.heads_first ? i % s.length : i / s.heads % s.length;
      const std::int64_t row = positions.row(b, position) * (s.turned / 2);
      turn(x.data() + i * s.size, cosines + row, sines + row, s, interleaved, y.data() + i * s.size);
    }
  });
  y.finish();
  return {};
}

Result<void> run_ports(Frame& frame, const Ports& ports) {
  if (!for_real(frame.in(0).type(), [](auto) {})) return wrong_type(frame, 0);
  return wants_double(frame.in(0).type()) ? run_in<double>(frame, ports) : run_in<float>(frame, ports);
}

Result<void> run(Frame& frame) { return run_ports(frame, {.cosines = 1, .sines = 2, .positions = 3}); }

Result<void> run_microsoft(Frame& frame) {
  if (frame.flag("is_packed_batching") || frame.real("scale", 1) != 1) {
    return error_at(Code::unsupported, {}, "is_packed_batching and scale are not supported");
  }
  return run_ports(frame, {.cosines = 2, .sines = 3, .positions = 1});
}

}  // namespace

std::span<const Descriptor> rotary_embedding_descriptors() {
  static const Descriptor all[] = {
      {.name = "RotaryEmbedding",
       .domain = "",
       .since = {23},
       .infer = infer_same,
       .run = run,
       .required = 3,
       .traits = computes_sensitive()},
      {.name = "RotaryEmbedding",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer_same,
       .run = run_microsoft,
       .required = 4,
       .traits = computes_sensitive()},
  };
  return all;
}

}  // namespace anybit::ops
