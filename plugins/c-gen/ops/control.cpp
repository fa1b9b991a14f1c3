// Operators with subgraphs: If, Loop, Scan. The nodes of a subgraph are called in place.
#include "failure.hpp"
#include "files.hpp"
#include "nest.hpp"

namespace anybit::cgen {
namespace {

void copy(Node& node, const std::string& to, const std::string& from, std::int64_t count) {
  node.line("for (int32_t i = 0; i < {}; ++i) {}[i] = {}[i];", count, to, from);
}

void emit_branch(Node& node, std::string_view attribute) {
  Body& body = node.body(attribute);
  if (const std::string reason = failure(*body.graph); !reason.empty())
    return node.line("return 1; /* {} */", comment_text(reason));
  node.emit(body);
  for (std::size_t i = 0; i < node.output_count(); ++i) {
    if (node.has_out(i)) copy(node, node.y(i), node.pointer(*body.outputs[i]), node.out(i).count());
  }
}

void emit_if(Node& node) {
  node.open("if ({}[0])", node.x(0));
  emit_branch(node, "then_branch");
  node.close();
  node.open("else");
  emit_branch(node, "else_branch");
  node.close();
}

// The inputs of the body have their own memory, filled before each iteration.
Body& body_of(Node& node) {
  Body& body = node.body("body");
  for (const Value* input : body.inputs) node.hold(*input);
  return body;
}

// Loop-carried values are kept in the outputs of the node, or in scratch memory for missing outputs.
std::vector<std::string> kept_states(Node& node, const Body& body, std::size_t first, std::size_t count) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < count; ++i) {
    const Value& state = *body.inputs[first + i];
    kept.push_back(node.has_out(i) ? node.y(i) : node.scratch(state.c(), state.count()));
  }
  return kept;
}

void emit_loop(Node& node) {
  Body& body = body_of(node);
  const std::size_t carried = body.inputs.size() - 2;
  const std::vector<std::string> kept = kept_states(node, body, 2, carried);
  const auto count = [&](std::size_t i) { return body.inputs[i + 2]->count(); };
  node.open("");
  node.line("uint8_t more = {};", node.has(1) ? fmt::format("{}[0]", node.x(1)) : "1");
  for (std::size_t i = 0; i < carried; ++i) copy(node, kept[i], node.x(i + 2), count(i));
  node.open("for (int64_t turn = 0; more{}; ++turn)",
            node.has(0) ? fmt::format(" && turn < {}[0]", node.x(0)) : "");
  if (body.inputs[0]->storage >= 0) node.line("{}[0] = turn;", body.x[0]);
  if (body.inputs[1]->storage >= 0) node.line("{}[0] = more;", body.x[1]);
  for (std::size_t i = 0; i < carried; ++i) copy(node, body.x[i + 2], kept[i], count(i));
  node.emit(body);
  node.line("more = {}[0];", node.pointer(*body.outputs[0]));
  for (std::size_t i = 0; i + 1 < body.outputs.size(); ++i) {
    const Value& made = *body.outputs[i + 1];
    if (i < carried)
      copy(node, kept[i], node.pointer(made), made.count());
    else if (node.has_out(i))
      copy(node, fmt::format("({} + turn * {})", node.y(i), made.count()), node.pointer(made), made.count());
  }
  node.close();
  node.close();
}

std::int64_t listed(const Node& node, std::string_view name, std::size_t i) {
  const auto all = node.integers(name);
  return all && i < all->size() ? (*all)[i] : 0;
}

// Copies slice `turn` along an axis of `whole` to or from `part`, which has the other axes.
void copy_slice(Node& node, const Value& whole, const std::string& whole_pointer, std::size_t axis,
                bool backward, const std::string& part, bool reads) {
  Dims dims = whole.dims;
  Walk walk{strides_of(whole.dims)};
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  walk.strides.erase(walk.strides.begin() + static_cast<std::ptrdiff_t>(axis));
  const Nest nest(dims, {walk, {strides_of(dims)}});
  const std::string turn = backward ? fmt::format("({} - turn)", whole.dims[axis] - 1) : "turn";
  const std::string outer =
      fmt::format("{}[{} + {} * {}]", whole_pointer, nest.at(0), turn, whole.stride(axis));
  const std::string inner = fmt::format("{}[{}]", part, nest.at(1));
  nest.open(node);
  node.line("{} = {};", reads ? inner : outer, reads ? outer : inner);
  nest.close(node);
}

void emit_scan(Node& node) {
  if (node.version() < 9) node.refuse("Scan with a batch axis, as before opset 9");
  Body& body = body_of(node);
  const auto scanned = static_cast<std::size_t>(node.integer("num_scan_inputs", 1));
  const std::size_t states = node.input_count() - scanned;
  const auto in_axis = [&](std::size_t i) {
    return node.axis(listed(node, "scan_input_axes", i), node.in(states + i).rank());
  };
  const std::vector<std::string> kept = kept_states(node, body, 0, states);
  const auto count = [&](std::size_t i) { return body.inputs[i]->count(); };
  for (std::size_t i = 0; i < states; ++i) copy(node, kept[i], node.x(i), count(i));
  node.loop("turn", node.in(states).dims[in_axis(0)]);
  for (std::size_t i = 0; i < states; ++i) copy(node, body.x[i], kept[i], count(i));
  for (std::size_t i = 0; i < scanned; ++i)
    copy_slice(node, node.in(states + i), node.x(states + i), in_axis(i),
               listed(node, "scan_input_directions", i) != 0, body.x[states + i], true);
  node.emit(body);
  for (std::size_t i = 0; i < body.outputs.size(); ++i) {
    const std::string made = node.pointer(*body.outputs[i]);
    if (i < states) copy(node, kept[i], made, count(i));
    if (i < states || !node.has_out(i)) continue;
    const std::size_t k = i - states;
    copy_slice(node, node.out(i), node.y(i),
               node.axis(listed(node, "scan_output_axes", k), node.out(i).rank()),
               listed(node, "scan_output_directions", k) != 0, made, false);
  }
  node.end();
}

}  // namespace

std::span<const Descriptor> control_descriptors() {
  static constexpr Descriptor all[] = {
      {"If", "", emit_if, InPlace::no, Place::inside},
      {"Loop", "", emit_loop, InPlace::no, Place::inside},
      {"Scan", "", emit_scan, InPlace::no, Place::inside},
  };
  return all;
}

}  // namespace anybit::cgen
