// Gather and scatter operators.
#include "nest.hpp"
#include "numbers.hpp"
#include "rows.hpp"

namespace anybit::cgen {
namespace {

// Declares `name`, an index into an axis of `size` that may be negative. Indices out of range are clamped:
// errors cannot be reported, and memory outside of the tensor must not be accessed.
void read_index(Node& node, std::string_view name, const std::string& element, std::int64_t size) {
  node.helper("index_within", R"(static int32_t index_within(int64_t index, int32_t size) {
  if (index < 0) index += size;
  return index < 0 ? 0 : index >= size ? size - 1 : (int32_t)index;
})");
  node.line("const int32_t {} = index_within({}, {});", name, element, size);
}

void emit_gather(Node& node) {
  const Value &x = node.in(0), &indices = node.in(1);
  const std::size_t axis = node.axis(node.integer("axis", 0), x.rank());
  const Rows rows = rows_along(x, axis);
  node.loop("o", rows.outer);
  node.loop("i", indices.count());
  read_index(node, "at", fmt::format("{}[i]", node.x(1)), rows.n);
  node.loop("r", rows.inner);
  node.line("{}[(o * {} + i) * {} + r] = {}[{}];", node.y(), indices.count(), rows.inner, node.x(0),
            rows.at("at"));
  node.end();
  node.end();
  node.end();
}

// Loops over the elements of the indices; `walks` are the walk of the indices and of the tensor that they
// index.
Nest element_nest(const Node& node, const Value& whole, std::size_t axis) {
  const Dims& dims = node.in(1).dims;
  Walk own{strides_of(whole.dims)};
  own.strides[axis] = 0;
  return {dims, {{strides_of(dims)}, own}};
}

void emit_gather_elements(Node& node) {
  const Value& x = node.in(0);
  const std::size_t axis = node.axis(node.integer("axis", 0), x.rank());
  const Nest nest = element_nest(node, x, axis);
  nest.open(node);
  read_index(node, "at", fmt::format("{}[{}]", node.x(1), nest.at(0)), x.dims[axis]);
  node.line("{}[{}] = {}[{} + at * {}];", node.y(), nest.at(0), node.x(0), nest.at(1), x.stride(axis));
  nest.close(node);
}

// The reduction of an update and an element: `a` becomes the expression.
std::string reduced(const Node& node) {
  const std::string how = node.text("reduction", "none");
  if (how == "none") return "b";
  if (how == "add") return "a + b";
  if (how == "mul") return "a * b";
  if (how == "max") return "a > b ? a : b";
  if (how == "min") return "a < b ? a : b";
  node.refuse("unsupported reduction {}", how);
}

void copy_data(Node& node) {
  node.loop("i", node.out().count());
  node.line("{}[i] = {}[i];", node.y(), node.x(0));
  node.end();
}

void update(Node& node, const std::string& place, const std::string& from) {
  const Value& out = node.out();
  const std::string how = reduced(node);
  if (how == "b") {
    node.line("{}[{}] = {}[{}];", node.y(), place, node.x(2), from);
    return;
  }
  node.line("const int32_t to = {};", place);
  node.line("const {} a = {}, b = {};", computed(out), load(node, out, node.y(), "to"),
            load(node, out, node.x(2), from));
  node.line("{}", store(node, out, node.y(), "to", how));
}

void emit_scatter_elements(Node& node) {
  const Value& x = node.in(0);
  const std::size_t axis = node.axis(node.integer("axis", 0), x.rank());
  copy_data(node);
  const Nest nest = element_nest(node, x, axis);
  nest.open(node);
  read_index(node, "at", fmt::format("{}[{}]", node.x(1), nest.at(0)), x.dims[axis]);
  update(node, fmt::format("{} + at * {}", nest.at(1), x.stride(axis)), nest.at(0));
  nest.close(node);
}

// Reads index tuple number `tuple` into `at`: the offset in `x`, from axis `first` on.
void read_tuple(Node& node, const Value& x, std::size_t first, std::int64_t size) {
  node.line("int32_t at = 0;");
  for (std::int64_t k = 0; k < size; ++k) {
    const std::size_t axis = first + static_cast<std::size_t>(k);
    node.open("");
    read_index(node, "k", fmt::format("{}[t * {} + {}]", node.x(1), size, k), x.dims[axis]);
    node.line("at += k * {};", x.stride(axis));
    node.close();
  }
}

void emit_gather_nd(Node& node) {
  const Value &x = node.in(0), &indices = node.in(1);
  const auto batch = static_cast<std::size_t>(node.integer("batch_dims", 0));
  const std::int64_t size = indices.dims.back(), tuples = size ? indices.count() / size : 0;
  const std::int64_t slice = x.product(batch + static_cast<std::size_t>(size), x.rank());
  const std::int64_t in_batch = tuples / std::max<std::int64_t>(1, x.product(0, batch));
  node.loop("t", tuples);
  read_tuple(node, x, batch, size);
  if (batch > 0) node.line("at += t / {} * {};", in_batch, x.product(batch, x.rank()));
  node.line("for (int32_t i = 0; i < {0}; ++i) {1}[t * {0} + i] = {2}[at + i];", slice, node.y(), node.x(0));
  node.end();
}

void emit_scatter_nd(Node& node) {
  const Value &x = node.in(0), &indices = node.in(1);
  const std::int64_t size = indices.dims.back(), tuples = size ? indices.count() / size : 0;
  copy_data(node);
  const std::int64_t slice = x.product(static_cast<std::size_t>(size), x.rank());
  node.loop("t", tuples);
  read_tuple(node, x, 0, size);
  node.loop("i", slice);
  update(node, "at + i", fmt::format("t * {} + i", slice));
  node.end();
  node.end();
}

// Slices from a start that each sample gives, or from 0; a circular slice wraps around.
void emit_tensor_scatter(Node& node) {
  const Value &cache = node.in(0), &update = node.in(1);
  const std::size_t axis = node.axis(node.integer("axis", -2), cache.rank());
  const Rows rows = rows_along(update, axis);
  const std::int64_t length = cache.dims[axis], outer = cache.product(1, axis);
  copy_data(node);
  rows.open(node);
  node.loop("j", rows.n);
  const std::string start = node.has(2) ? fmt::format("{}[o / {}]", node.x(2), outer) : "0";
  node.line("const int32_t at = (int32_t)((uint64_t)({} + j) % {});", start, length);
  node.line("{}[{}] = {}[{}];", node.y(), rows.at("at", length), node.x(1), rows.at("j"));
  node.end();
  rows.close(node);
}

}  // namespace

std::span<const Descriptor> gather_descriptors() {
  static constexpr Descriptor all[] = {
      {"Gather", "", emit_gather},
      {"GatherElements", "", emit_gather_elements},
      {"GatherND", "", emit_gather_nd},
      {"Scatter", "", emit_scatter_elements, InPlace::yes},
      {"ScatterElements", "", emit_scatter_elements, InPlace::yes},
      {"ScatterND", "", emit_scatter_nd, InPlace::yes},
      {"TensorScatter", "", emit_tensor_scatter, InPlace::yes},
  };
  return all;
}

}  // namespace anybit::cgen
