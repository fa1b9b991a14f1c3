// Einsum: sums products over the axes whose letters are not in the result.
#include <algorithm>

#include "numbers.hpp"

namespace anybit::cgen {
namespace {

struct Labels {
  std::vector<std::string> inputs;
  std::string output;
};

// The equation without spaces; the axes of "..." are digits, counted from the right.
Labels labels_of(const Node& node) {
  std::string equation = node.text("equation", "");
  std::erase(equation, ' ');
  const std::size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  Labels labels;
  std::size_t at = 0, most = 0;
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    const std::size_t end = std::min(left.find(',', at), left.size());
    std::string one = left.substr(at, end - at);
    at = end + 1;
    if (const std::size_t dots = one.find("..."); dots != std::string::npos) {
      const std::size_t extra = node.in(i).rank() - (one.size() - 3);
      std::string named;
      for (std::size_t k = 0; k < extra; ++k) named += static_cast<char>('0' + extra - 1 - k);
      one.replace(dots, 3, named);
      most = std::max(most, extra);
    }
    if (one.size() != node.in(i).rank())
      node.refuse("its equation has {} letters for input {} of rank {}", one.size(), i, node.in(i).rank());
    labels.inputs.push_back(std::move(one));
  }
  std::string dotted;
  for (std::size_t k = 0; k < most; ++k) dotted += static_cast<char>('0' + most - 1 - k);
  if (arrow != std::string::npos) {
    labels.output = equation.substr(arrow + 2);
    if (const std::size_t dots = labels.output.find("..."); dots != std::string::npos)
      labels.output.replace(dots, 3, dotted);
    return labels;
  }
  // The distinct letters, in order.
  std::string all, once;
  for (const std::string& one : labels.inputs) all += one;
  for (const char letter : all) {
    if (std::ranges::count(all, letter) == 1 && !(letter >= '0' && letter <= '9')) once += letter;
  }
  std::ranges::sort(once);
  labels.output = dotted + once;
  return labels;
}

void emit_einsum(Node& node) {
  const Labels labels = labels_of(node);
  const Value& x = node.in(0);
  std::string all = labels.output;
  for (const std::string& one : labels.inputs) {
    for (const char letter : one) {
      if (all.find(letter) == std::string::npos) all += letter;
    }
  }
  const auto size_of = [&](char letter) {
    std::int64_t size = 1;
    for (std::size_t i = 0; i < labels.inputs.size(); ++i) {
      for (std::size_t k = 0; k < labels.inputs[i].size(); ++k) {
        if (labels.inputs[i][k] == letter) size = std::max(size, node.in(i).dims[k]);
      }
    }
    return size;
  };
  const auto place = [](const std::string& letters, const Value& value) {
    std::string at = "0";
    for (std::size_t k = 0; k < letters.size(); ++k) {
      if (value.dims[k] != 1) at += fmt::format(" + i_{} * {}", letters[k], value.stride(k));
    }
    return at;
  };
  const std::string_view type = is_real(x) ? computed(x) : wrapping(x);
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (k == labels.output.size()) node.line("{} s = 0;", type);
    node.loop(fmt::format("i_{}", all[k]), size_of(all[k]));
  }
  if (all.size() == labels.output.size()) node.line("{} s = 0;", type);
  std::string product;
  for (std::size_t i = 0; i < labels.inputs.size(); ++i)
    product += fmt::format("{}({}){}", i ? " * " : "", type,
                           load(node, node.in(i), node.x(i), place(labels.inputs[i], node.in(i))));
  node.line("s += {};", product);
  for (std::size_t k = labels.output.size(); k < all.size(); ++k) node.end();
  node.line("{}", store(node, node.out(), node.y(), place(labels.output, node.out()), "s"));
  for (std::size_t k = 0; k < labels.output.size(); ++k) node.end();
}

}  // namespace

std::span<const Descriptor> einsum_descriptors() {
  static constexpr Descriptor all[] = {{"Einsum", "", emit_einsum}};
  return all;
}

}  // namespace anybit::cgen
