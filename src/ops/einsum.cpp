// Einsum: sums of products over named axes. ONNX: Einsum-12.
#include <algorithm>
#include <map>

#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

struct Equation {
  std::vector<std::string> terms;
  std::optional<std::string> output;
};

Equation parsed(std::string_view text) {
  Equation equation;
  std::string clean;
  for (const char c : text) {
    if (c != ' ') clean += c;
  }
  std::string left = clean;
  if (const auto arrow = clean.find("->"); arrow != std::string::npos) {
    left = clean.substr(0, arrow);
    equation.output = clean.substr(arrow + 2);
  }
  std::size_t start = 0;
  for (;;) {
    const std::size_t comma = left.find(',', start);
    equation.terms.push_back(left.substr(start, comma - start));
    if (comma == std::string::npos) return equation;
    start = comma + 1;
  }
}

// The size of every letter, in the order ONNX sums in; nothing for the rarer forms with "...".
Result<std::optional<std::map<char, Dim>>> sizes_of(const Call& call, const Equation& equation) {
  using Sizes = std::map<char, Dim>;
  if (equation.terms.size() != call.inputs.size()) {
    return wrong(fmt::format("the equation names {} operands, the node has {}", equation.terms.size(),
                             call.inputs.size()));
  }
  Sizes sizes;
  for (std::size_t i = 0; i < equation.terms.size(); ++i) {
    const std::string& term = equation.terms[i];
    const auto& shape = call.in(i).shape;
    if (term.find('.') != std::string::npos || !shape) return std::optional<Sizes>();
    if (term.size() != shape->size()) {
      return wrong(
          fmt::format("'{}' names {} axes of a tensor of rank {}", term, term.size(), shape->size()));
    }
    for (std::size_t k = 0; k < term.size(); ++k) {
      Dim& size = sizes[term[k]];
      if (!size.known() || size.is(1)) size = (*shape)[k];
    }
  }
  return std::optional(std::move(sizes));
}

// Without "->", the output has the letters that occur once, sorted.
std::string output_letters(const Equation& equation) {
  if (equation.output) return *equation.output;
  std::map<char, int> seen;
  for (const std::string& term : equation.terms) {
    for (const char c : term) ++seen[c];
  }
  std::string letters;
  for (const auto& [letter, times] : seen) {
    if (times == 1) letters += letter;
  }
  return letters;
}

Result<Values> infer(const Call& call) {
  const Equation equation = parsed(call.text("equation", ""));
  const auto sizes = TRY(sizes_of(call, equation));
  const std::string letters = output_letters(equation);
  if (!sizes || letters.find('.') != std::string::npos) {
    return outputs_of(call, tensor(call.in(0).type, std::nullopt));
  }
  Shape shape;
  for (const char letter : letters) {
    const auto found = sizes->find(letter);
    if (found == sizes->end())
      return wrong(fmt::format("the output names '{}', which no operand has", letter));
    shape.push_back(found->second);
  }
  return outputs_of(call, tensor(call.in(0).type, std::move(shape)));
}

// Products over all letters at once; with more than two operands a runtime would go pair by pair, and need
// fewer.
Dim macs(const Call& call, std::span<const Value>) {
  const auto sizes = sizes_of(call, parsed(call.text("equation", "")));
  if (!sizes.ok() || !*sizes || call.inputs.size() != 2) return call.inputs.size() < 2 ? Dim(0) : Dim();
  Dim total = 1;
  for (const auto& [letter, size] : **sizes) total = total * size;
  return total;
}

}  // namespace

std::span<const Descriptor> einsum_descriptors() {
  static const Descriptor all[] = {
      {.name = "Einsum", .domain = "", .since = {12}, .infer = infer, .macs = macs}};
  return all;
}

}  // namespace anybit::ops
