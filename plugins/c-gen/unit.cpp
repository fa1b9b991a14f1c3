#include "unit.hpp"

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "constants.hpp"
#include "failure.hpp"
#include "files.hpp"

namespace anybit::cgen {
namespace {

std::string identifier(std::string_view text) {
  std::string result;
  for (const char one : text)
    result += std::isalnum(static_cast<unsigned char>(one))
                  ? static_cast<char>(std::tolower(static_cast<unsigned char>(one)))
                  : '_';
  return result;
}

template <class F>
void for_captures(const anybit_node& node, const F& f) {
  for (std::size_t i = 0; i < node.attribute_count; ++i) {
    if (node.attributes[i].kind != ANYBIT_ATTRIBUTE_GRAPH) continue;
    const anybit_graph& inner = *node.attributes[i].graph;
    for (std::size_t k = 0; k < inner.capture_count; ++k) f(inner.capture_outer[k]);
  }
}

// Control characters, bidirectional marks and line separators: with them the displayed text would differ from
// the compiled one.
bool is_deceptive(char32_t one) {
  return one < 0x20 || (one >= 0x7f && one < 0xa0) || one == 0x61c || one == 0x200e || one == 0x200f ||
         (one >= 0x2028 && one <= 0x202e) || (one >= 0x2066 && one <= 0x2069) || one == 0xfeff;
}

// The length in bytes and the code point of the first character; 1 and 0 if it is not UTF-8.
std::pair<std::size_t, char32_t> first_character(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return {1, lead};
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return {1, 0};
  char32_t one = lead & (0x7f >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((at(i) & 0xc0) != 0x80) return {1, 0};
    one = one << 6 | (at(i) & 0x3f);
  }
  const bool shortest = one >= (size == 4 ? 0x10000u : size == 3 ? 0x800u : 0x80u);
  return shortest && one <= 0x10ffff && (one < 0xd800 || one > 0xdfff) ? std::pair(size, one)
                                                                       : std::pair(std::size_t{1}, U'\0');
}

}  // namespace

std::string comment_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto [size, one] = first_character(text);
    std::string piece(text.substr(0, size));
    if (is_deceptive(one)) piece = one != 0 && one < ' ' ? " " : "?";
    // '@' marks addresses that are not known yet; a backslash could join lines.
    if (one == '@' || one == '\\') piece = "_";
    const std::string pair = result.empty() ? "" : result.back() + piece;
    // "/*" within a comment is legal, but compilers warn of it, and of "??", which begins a trigraph.
    if (pair == "*/" || pair == "/*" || pair == "??") result += ' ';
    result += piece;
    text.remove_prefix(size);
  }
  return result;
}

Unit::Unit(const anybit_view& view, anybit_preference preference, std::string name)
    : view_(view), preference_(preference), name_(std::move(name)), failures_(cgen::failures(*view.graph)) {}

// ---- Memory.

int Unit::root(int storage) const {
  while (storages_[static_cast<std::size_t>(storage)].merged_into >= 0)
    storage = storages_[static_cast<std::size_t>(storage)].merged_into;
  return storage;
}

int Unit::add_storage(std::int64_t bytes) {
  storages_.push_back({.bytes = bytes});
  return static_cast<int>(storages_.size()) - 1;
}

int Unit::scratch(std::int64_t bytes) {
  const int made = add_storage(bytes);
  storages_.back().life = {step_, step_};
  return made;
}

void Unit::touch(const Value& value) {
  if (value.storage < 0) return;
  Span& life = storage_of(value).life;
  life.first = life.first < 0 ? step_ : std::min(life.first, step_);
  life.last = std::max(life.last, step_);
}

void Unit::hold(const Value& value, int since) {
  touch(value);
  if (value.storage < 0) return;
  Storage& storage = storage_of(value);
  storage.life.first = std::min(storage.life.first, since);
  ++storage.uses;
}

void Unit::merge(int from, int into) {
  from = root(from);
  into = root(into);
  if (from == into) return;
  Storage& gone = storages_[static_cast<std::size_t>(from)];
  Storage& kept = storages_[static_cast<std::size_t>(into)];
  gone.merged_into = into;
  kept.bytes = std::max(kept.bytes, gone.bytes);
  kept.uses += gone.uses;
  if (gone.life.first >= 0) {
    kept.life.first = kept.life.first < 0 ? gone.life.first : std::min(kept.life.first, gone.life.first);
    kept.life.last = std::max(kept.life.last, gone.life.last);
  }
}

void Unit::plan() {
  // Values that are never stored as a whole have no memory.
  for (const auto& [storage, one] : waiting_) storages_[static_cast<std::size_t>(root(storage))].life = {};
  std::vector<Block> blocks;
  for (const Storage& one : storages_) {
    const bool in_arena = one.merged_into < 0 && one.outer.empty();
    blocks.push_back(in_arena ? Block{one.life, std::max<std::int64_t>(one.bytes, 1)} : Block{});
  }
  Layout layout = lay_out(blocks, alignment());
  offsets_ = std::move(layout.offsets);
  arena_bytes_ = layout.bytes;
}

std::string Unit::address(int storage) const { return fmt::format("@{}@", storage); }

std::string Unit::address(const Value& value) const { return address(value.storage); }

std::string Unit::resolved(const std::string& text, bool outer) const {
  std::string result;
  std::size_t at = 0;
  while (true) {
    const std::size_t begin = text.find('@', at);
    if (begin == std::string::npos) return result + text.substr(at);
    const std::size_t end = text.find('@', begin + 1);
    const auto number = static_cast<std::size_t>(root(std::stoi(text.substr(begin + 1, end - begin - 1))));
    const Storage& storage = storages_[number];
    const std::string& name = outer ? storage.outer : storage.inner;
    result += text.substr(at, begin - at);
    result += name.empty() ? fmt::format("(void *)(arena.bytes + {})", offsets_[number]) : name;
    at = end + 1;
  }
}

// ---- Constants and helpers.

std::string Unit::array(Element type, std::string bytes, std::string comment) {
  owned_.push_back(std::move(bytes));
  const std::string_view key = owned_.back();
  const auto [place, added] = known_constants_.try_emplace({type, key}, "");
  if (!added) {
    owned_.pop_back();
    return place->second;
  }
  place->second = fmt::format("c{}", constants_.size());
  constants_.push_back({place->second, std::move(comment), type, key.data(), key.size()});
  return place->second;
}

std::string Unit::constant(const Value& value) { return array(value.type, unpacked(value), value.name); }

std::string Unit::packed(const Value& value) {
  return array(Element::uint8, std::string(bytes_of(value)), value.name);
}

std::int64_t Unit::constant_bytes() const {
  std::int64_t bytes = 0;
  for (const ConstantArray& one : constants_) bytes += static_cast<std::int64_t>(one.bytes);
  return bytes;
}

void Unit::helper(std::string_view name, std::string_view text) {
  if (!known_helpers_.insert(std::string(name)).second) return;
  helpers_ += text;
  if (!text.ends_with('\n')) helpers_ += '\n';
  helpers_ += '\n';
}

// ---- Values.

void Unit::make_values(const anybit_graph& graph, std::vector<Value>& values) {
  for (std::size_t i = 0; i < graph.value_count; ++i) {
    const anybit_value& view = graph.values[i];
    Value value{.name = view.name, .type = element_named(view.type), .view = &view};
    for (std::int32_t d = 0; d < view.rank; ++d) value.dims.push_back(view.dims[d]);
    values.push_back(std::move(value));
  }
}

namespace {

void check(const Value& value) {
  if (value.type == Element::none)
    throw Refusal(fmt::format("c-gen cannot generate tensor '{}': its type is {}", value.name,
                              *value.view->type ? value.view->type : "not known"));
  const bool known = value.view->rank >= 0 && std::ranges::all_of(value.dims, [](auto d) { return d >= 0; });
  if (!known)
    throw Refusal(
        fmt::format("c-gen cannot generate tensor '{}': its shape is not known; give the shapes of "
                    "the model's inputs",
                    value.name));
}

}  // namespace

// Allocates every value that is not constant, and counts its uses.
void Unit::count_uses(const anybit_graph& graph, std::vector<Value>& values) {
  const auto at = [&](std::int32_t number) -> Value& { return values[static_cast<std::size_t>(number)]; };
  const auto make = [&](std::int32_t number) {
    if (number < 0 || at(number).constant() || at(number).storage >= 0) return;
    check(at(number));
    at(number).storage = add_storage(at(number).bytes());
  };
  const auto use = [&](std::int32_t number) {
    if (number >= 0 && at(number).storage >= 0) ++storage_of(at(number)).uses;
  };
  for (std::size_t i = 0; i < graph.input_count; ++i) make(graph.inputs[i]);
  for (std::size_t i = 0; i < graph.node_count; ++i) {
    const anybit_node& node = graph.nodes[i];
    for (std::size_t k = 0; k < node.output_count; ++k) make(node.outputs[k]);
    for (std::size_t k = 0; k < node.input_count; ++k) use(node.inputs[k]);
    for_captures(node, use);
  }
  for (std::size_t i = 0; i < graph.output_count; ++i) use(graph.outputs[i]);
}

void Unit::used(const anybit_node& node, std::vector<Value>& values) {
  const auto drop = [&](std::int32_t number) {
    if (number < 0 || values[static_cast<std::size_t>(number)].storage < 0) return;
    touch(values[static_cast<std::size_t>(number)]);
    --storage_of(values[static_cast<std::size_t>(number)]).uses;
  };
  for (std::size_t k = 0; k < node.input_count; ++k) drop(node.inputs[k]);
  for_captures(node, drop);
}

// ---- Nodes.

int Unit::find_in_place(const Node& node) {
  const Value& out = node.out();
  Storage& to = storage_of(out);
  struct Uses {
    const Value* value;
    int count = 0;
    bool other = false;  // a view: the same memory with another shape
  };
  std::unordered_map<int, Uses> here;  // uses by storage
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    if (!node.has(i) || node.in(i).storage < 0) continue;
    Uses& uses = here.try_emplace(root(node.in(i).storage), Uses{&node.in(i)}).first->second;
    ++uses.count;
    uses.other = uses.other || &node.in(i) != uses.value;
  }
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    if (!node.has(i) || node.in(i).storage < 0) continue;
    const Value& in = node.in(i);
    const Storage& from = storage_of(in);
    const Uses& uses = here.at(root(in.storage));
    if (in.c() != out.c() || in.count() != out.count() || uses.other || from.uses != uses.count ||
        !from.outer.empty() || !from.inner.empty())
      continue;
    const bool port = !to.outer.empty() || !to.inner.empty();
    if (port && from.bytes > to.bytes) continue;
    if (port) {
      merge(in.storage, out.storage);
    } else {
      merge(out.storage, in.storage);
    }
    return static_cast<int>(i);
  }
  return -1;
}

void Unit::emit_copy(const Value& from, const Value& to, Writer& calls) {
  const std::string source = from.constant() ? constant(from) : address(from);
  calls.open(fmt::format("for (int32_t i = 0; i < {}; ++i)", to.count()));
  calls.line(fmt::format("(({} *){})[i] = ((const {} *){})[i];", to.c(), address(to), to.c(), source));
  calls.close();
}

void Unit::emit_view(Value& from, Value& to, Writer& calls) {
  if (to.storage < 0) return;
  Storage& target = storage_of(to);
  const bool port = !target.outer.empty() || !target.inner.empty();
  if (!port && from.constant()) {
    to.view = from.view;
    to.storage = -1;
    return;
  }
  if (!port) return merge(to.storage, from.storage);
  const bool free = !from.constant() && storage_of(from).outer.empty() && storage_of(from).inner.empty() &&
                    storage_of(from).bytes <= target.bytes;
  if (free) return merge(from.storage, to.storage);
  emit_copy(from, to, calls);
}

void Unit::emit_function(Node& node, Writer& calls) {
  std::string parameters, arguments;
  for (const Node::Parameter& one : node.parameters_) {
    parameters += fmt::format("{}{} *restrict {}", parameters.empty() ? "" : ", ", one.type, one.name);
    arguments += fmt::format("{}{}", arguments.empty() ? "" : ", ", one.argument);
  }
  const std::string text =
      fmt::format("({}) {{\n{}}}\n", parameters.empty() ? "void" : parameters, node.own_.text());
  calls.line(fmt::format("{}({});", function(node.op(), text, node.name()), arguments));
}

std::string Unit::function(std::string_view kind, const std::string& text, std::string_view comment) {
  auto& name = known_functions_[text];
  if (!name.empty()) return name;
  name = fmt::format("n{}_{}", known_functions_.size() - 1, identifier(kind));
  if (!comment.empty()) functions_ += fmt::format("/* {} */\n", comment_text(comment));
  functions_ += fmt::format("STEP void {}{}\n", name, text);
  return name;
}

const anybit_node* Unit::waiting(const Value& value) const {
  const auto found = value.storage < 0 ? waiting_.end() : waiting_.find(value.storage);
  return found == waiting_.end() ? nullptr : found->second.node;
}

std::vector<Value>& Unit::scope_of_waiting(const Value& value) { return *waiting_.at(value.storage).scope; }

void Unit::need(const Value& value) {
  if (!waiting(value)) return;
  const Waiting found = waiting_.at(value.storage);
  waiting_.erase(value.storage);
  emit_node(*found.node, *found.scope, *found.calls);
}

bool Unit::can_wait(const anybit_node& node, std::vector<Value>& values) const {
  const Descriptor* descriptor = find(node.op, node.domain);
  if (!descriptor || descriptor->place != Place::function || node.output_count != 1) return false;
  const Value& out = values[static_cast<std::size_t>(node.outputs[0])];
  const Storage& storage = storages_[static_cast<std::size_t>(root(out.storage))];
  if (!storage.outer.empty() || !storage.inner.empty()) return false;
  for (std::size_t i = 0; i < node.input_count; ++i) {
    if (node.inputs[i] < 0) continue;
    const Value& in = values[static_cast<std::size_t>(node.inputs[i])];
    if (!in.constant() && !waiting(in)) return false;
  }
  return node.input_count > 0;
}

void Unit::emit_node(const anybit_node& view, std::vector<Value>& values, Writer& calls) {
  ++step_;
  Node node(*this, view, values);
  const Descriptor* descriptor = find(view.op, view.domain);
  if (!descriptor) node.refuse("there is no emitter for this operator");
  for (const Value* one : node.inputs_) {
    if (one) check(*one);
  }
  // Operators that write inline code need their inputs before it.
  if (descriptor->place != Place::function) {
    for (const Value* one : node.inputs_) {
      if (one) need(*one);
    }
    for_captures(view, [&](std::int32_t number) { need(values[static_cast<std::size_t>(number)]); });
  }
  node.first_step_ = step_;
  if (descriptor->place == Place::nowhere) {
    const Value& in = node.in(0);
    if (in.c() != node.out().c() || in.count() != node.out().count())
      node.refuse("'{}' and '{}' differ in type or size", in.name, node.out().name);
    emit_view(*node.inputs_[0], *node.outputs_[0], calls);
  } else {
    if (descriptor->in_place == InPlace::yes) node.in_place_ = find_in_place(node);
    for (const Value* one : node.inputs_) {
      if (one) touch(*one);
    }
    for (const Value* one : node.outputs_) {
      if (one) touch(*one);
    }
    if (descriptor->place == Place::inside) {
      node.inside_ = true;
      node.out_ = &calls;
      calls.line(fmt::format("/* {} {} */", comment_text(view.op), comment_text(view.name)));
      descriptor->emit(node);
    } else {
      descriptor->emit(node);
      emit_function(node, calls);
    }
    // Deferred producers are emitted before it.
    for (const int one : node.scratches_)
      storages_[static_cast<std::size_t>(one)].life = {node.first_step_, step_};
  }
  used(view, values);
  for (const Value* one : node.outputs_) {
    if (one) touch(*one);
  }
}

void Unit::emit_graph(const anybit_graph& graph, std::vector<Value>& values, Writer& calls) {
  for (std::size_t i = 0; i < graph.node_count; ++i) {
    const anybit_node& node = graph.nodes[i];
    Writer& target = first_nodes_.contains(&node) ? before_ : last_nodes_.contains(&node) ? after_ : calls;
    if (can_wait(node, values)) {
      waiting_.emplace(values[static_cast<std::size_t>(node.outputs[0])].storage,
                       Waiting{&node, &values, &target});
    } else {
      emit_node(node, values, target);
    }
  }
  for (std::size_t i = 0; i < graph.output_count; ++i)
    need(values[static_cast<std::size_t>(graph.outputs[i])]);
  ++step_;
  for (std::size_t i = 0; i < graph.output_count; ++i)
    touch(values[static_cast<std::size_t>(graph.outputs[i])]);
}

Body& Unit::body(Node& node, const anybit_attribute& attribute) {
  Body& body = bodies_.emplace_back();
  const anybit_graph& graph = *attribute.graph;
  body.graph = &graph;
  make_values(graph, body.values);
  for (std::size_t i = 0; i < graph.capture_count; ++i) {
    Value& inner = body.values[static_cast<std::size_t>(graph.capture_inner[i])];
    inner = node.scope_[static_cast<std::size_t>(graph.capture_outer[i])];
  }
  count_uses(graph, body.values);
  for (std::size_t i = 0; i < graph.input_count; ++i) {
    const Value& value = body.values[static_cast<std::size_t>(graph.inputs[i])];
    body.inputs.push_back(&value);
    body.x.push_back(fmt::format("(({} *){})", value.c(), address(value)));
  }
  for (std::size_t i = 0; i < graph.output_count; ++i)
    body.outputs.push_back(&body.values[static_cast<std::size_t>(graph.outputs[i])]);
  return body;
}

// ---- The file.

void Unit::make_ports() {
  const anybit_graph& graph = *view_.graph;
  for (std::size_t i = 0; i < graph.input_count; ++i) {
    Value& value = values_[static_cast<std::size_t>(graph.inputs[i])];
    check(value);
    const std::string name = fmt::format("in{}", inputs_.size());
    if (value.storage >= 0) storage_of(value).outer = storage_of(value).inner = name;
    inputs_.push_back({.value = &value, .name = name});
  }
  for (std::size_t i = 0; i < graph.output_count; ++i) {
    Value& value = values_[static_cast<std::size_t>(graph.outputs[i])];
    check(value);
    outputs_.push_back({.value = &value, .name = fmt::format("out{}", i)});
    // An output that is also an input, a constant or another output is copied at the end.
    if (value.storage < 0 || !storage_of(value).outer.empty()) continue;
    storage_of(value).outer = storage_of(value).inner = outputs_.back().name;
  }
}

void Unit::generate() {
  const anybit_graph& graph = *view_.graph;
  make_values(graph, values_);
  count_uses(graph, values_);
  make_ports();
  find_quantized_ports();
  emit_graph(graph, values_, between_);
  for (const Port& port : outputs_) {
    const bool there = port.value->storage >= 0 && storage_of(*port.value).outer == port.name;
    if (there) continue;
    Value target = *port.value;
    target.view = nullptr;
    target.storage = add_storage(target.bytes());
    storages_.back().outer = storages_.back().inner = port.name;
    emit_copy(*port.value, target, between_);
  }
  plan();
}

}  // namespace anybit::cgen
