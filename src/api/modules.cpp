#include "anybit/modules.hpp"

#include <algorithm>
#include <optional>

#include "api/model_access.hpp"
#include "base/guard.hpp"
#include "graph/modules.hpp"
#include "graph/rewrite.hpp"

namespace anybit {
namespace {

using Classes = std::map<std::string, std::string>;

// Modules by their path with slashes.
class Finder {
 public:
  explicit Finder(const Classes& classes) : classes_(classes) {
    for (const auto& [path, class_name] : classes) by_path_.emplace(graph::module_path(path), &path);
  }

  // Outermost first; empty if no module is known.
  std::vector<graph::Module> of(const graph::Node& node) const {
    const std::string* innermost = by_weights(node);
    if (!innermost) innermost = by_name(graph::module_path(node.name.str()));
    if (!innermost) return {};
    std::vector<graph::Module> modules;
    for (std::size_t end = 0; end != std::string::npos; end = innermost->find('.', end + 1)) {
      const auto found = classes_.find(innermost->substr(0, end));
      if (found != classes_.end()) modules.push_back({found->first, found->second});
    }
    if (!innermost->empty()) modules.push_back({*innermost, classes_.at(*innermost)});
    return modules;
  }

 private:
  // "blocks.0.conv.weight" is a parameter of the module "blocks.0.conv".
  const std::string* by_weights(const graph::Node& node) const {
    for (const std::string& name : node.inputs) {
      const std::size_t end = name.rfind('.');
      const auto found = classes_.find(end == std::string::npos ? std::string() : name.substr(0, end));
      if (end != std::string::npos && found != classes_.end()) return &found->first;
    }
    return nullptr;
  }

  // Follows the name from module to module. The last part is the operator.
  const std::string* by_name(std::string_view name) const {
    const std::string* module = find("");
    std::string path;
    for (std::size_t end = name.find('/'); end != std::string_view::npos; end = name.find('/')) {
      std::string_view part = name.substr(0, end);
      const std::string* next = child(path, part);
      if (!next) next = child(path, without_number(part));
      if (!next) break;
      module = next;
      path = graph::module_path(*next);
      name.remove_prefix(end + 1);
    }
    return module;
  }

  // The module of this name in the one of this path. Names leave out a ModuleDict between the two.
  const std::string* child(const std::string& path, std::string_view name) const {
    const std::string first = path.empty() ? std::string() : path + "/";
    if (const std::string* found = find(first + std::string(name))) return found;
    const std::string last = "/" + std::string(name);
    const std::string* only = nullptr;
    for (auto one = by_path_.lower_bound(first); one != by_path_.end() && one->first.starts_with(first);
         ++one) {
      if (!one->first.ends_with(last)) continue;
      if (only) return nullptr;
      only = one->second;
    }
    return only;
  }

  // A module that is called again has a number behind its name: "conv_1".
  static std::string_view without_number(std::string_view name) {
    const std::size_t mark = name.find_last_not_of("0123456789");
    const bool numbered = mark != std::string_view::npos && mark + 1 < name.size() && name[mark] == '_';
    return numbered ? name.substr(0, mark) : name;
  }

  const std::string* find(const std::string& path) const {
    const auto found = by_path_.find(path);
    return found == by_path_.end() ? nullptr : found->second;
  }

  const Classes& classes_;
  std::map<std::string, const std::string*> by_path_;
};

}  // namespace

Result<Model> with_modules(const Model& model, const std::map<std::string, std::string>& classes) noexcept {
  return guarded([&]() -> Result<Model> {
    const Model::Content& content = ModelAccess::content(model);
    graph::Model changed = content.model;
    const Finder finder(classes);
    each_graph_of(changed, [&](graph::Graph& graph) {
      for (graph::Node& node : graph.nodes) {
        if (!graph::modules_of(node).empty()) continue;
        const std::vector<graph::Module> modules = finder.of(node);
        if (!modules.empty()) graph::set_modules(node, modules);
      }
    });
    return ModelAccess::made(std::move(changed), content.limits);
  });
}

}  // namespace anybit
