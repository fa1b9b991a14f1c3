#include "graph/modules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/rewrite.hpp"

namespace anybit::graph {
namespace {

constexpr std::string_view kScopes = "pkg.torch.onnx.name_scopes";
constexpr std::string_view kClasses = "pkg.torch.onnx.class_hierarchy";

const Property* find(const Node& node, std::string_view key) {
  const auto found = std::ranges::find_if(node.metadata, [&](const Property& one) { return one.key == key; });
  return found == node.metadata.end() ? nullptr : &*found;
}

// The items of a Python list of text, as `repr` writes it; nothing if it is not one.
std::vector<std::string> items_of(std::string_view text) {
  std::vector<std::string> items;
  if (!text.starts_with('[') || !text.ends_with(']')) return items;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    const char quote = text[i];
    if (quote == ',' || quote == ' ') continue;
    if (quote != '\'' && quote != '"') return {};
    std::string& item = items.emplace_back();
    for (++i; i + 1 < text.size() && text[i] != quote; ++i) {
      if (text[i] == '\\') ++i;
      item += text[i];
    }
    if (i + 1 >= text.size()) return {};  // the last item does not end
  }
  return items;
}

void add_item(std::string& list, std::string_view item) {
  list += list.empty() ? "['" : ", '";
  for (const char one : item) {
    if (one == '\'' || one == '\\') list += '\\';
    list += one;
  }
  list += '\'';
}

void set(Node& node, std::string_view key, std::string value) {
  Property property;
  property.key = Text(key);
  property.value = Text(std::move(value));
  node.metadata.push_back(std::move(property));
}

}  // namespace

std::vector<Module> modules_of(const Node& node) {
  const Property* scopes = find(node, kScopes);
  if (!scopes) return {};
  std::vector<std::string> paths = items_of(scopes->value.str());
  const Property* classes = find(node, kClasses);
  std::vector<std::string> names = classes ? items_of(classes->value.str()) : std::vector<std::string>();
  if (names.size() != paths.size()) names.assign(paths.size(), {});
  std::vector<Module> modules;
  // The last item is the operator that the node computes.
  for (std::size_t i = 0; i + 1 < paths.size(); ++i)
    modules.push_back({std::move(paths[i]), std::move(names[i])});
  return modules;
}

void set_modules(Node& node, std::span<const Module> modules) {
  std::string scopes, classes;
  for (const Module& one : modules) {
    add_item(scopes, one.path);
    add_item(classes, one.class_name);
  }
  add_item(scopes, node.name.str());
  add_item(classes, node.op_type.str());
  std::erase_if(node.metadata, [](const Property& one) { return one.key == kScopes || one.key == kClasses; });
  set(node, kScopes, scopes + "]");
  set(node, kClasses, classes + "]");
}

void take_modules(Node& node, const Node& from) {
  if (find(node, kScopes)) return;
  for (const std::string_view key : {kScopes, kClasses}) {
    if (const Property* one = find(from, key)) node.metadata.push_back(*one);
  }
}

std::int64_t module_bytes(const Node& node) {
  std::int64_t bytes = 0;
  for (const std::string_view key : {kScopes, kClasses}) {
    if (const Property* one = find(node, key)) bytes += std::ssize(one->value.str());
  }
  return bytes;
}

std::set<std::string, std::less<>> module_classes(const Model& model) {
  std::set<std::string, std::less<>> classes;
  each_graph_of(model, [&](const Graph& graph) {
    for (const Node& node : graph.nodes) {
      for (Module& one : modules_of(node)) {
        if (!one.class_name.empty()) classes.insert(std::move(one.class_name));
      }
    }
  });
  return classes;
}

std::string module_path(std::string_view name) {
  if (name.starts_with('/')) name.remove_prefix(1);
  std::vector<std::string_view> parts{""};
  for (bool first = true;; first = false) {
    const std::string_view part = name.substr(0, name.find('/'));
    const std::string_view parent = parts.back();
    const bool repeats =
        part.size() > parent.size() && part.starts_with(parent) && part[parent.size()] == '.';
    if (first || (repeats && !parent.empty())) {
      parts.back() = part;
    } else {
      parts.push_back(part);
    }
    if (part.size() == name.size()) break;
    name.remove_prefix(part.size() + 1);
  }
  std::string path = fmt::format("{}", fmt::join(parts, "/"));
  std::ranges::replace(path, '.', '/');
  return path;
}

}  // namespace anybit::graph
