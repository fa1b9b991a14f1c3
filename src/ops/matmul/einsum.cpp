// Einsum: contractions over named axes. ONNX: Einsum-12.
#include <algorithm>
#include <map>
#include <utility>

#include "base/checked.hpp"
#include "ops/move/scatter_reduction.hpp"
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

// The size of every letter, in ONNX's summation order; nothing for equations with "...".
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

// Without "->", the output has the letters that occur once, in sorted order.
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

// Counts the product over all letters at once; with more than two operands, pairwise contraction needs fewer.
Dim macs(const Call& call, std::span<const Value>) {
  const auto sizes = sizes_of(call, parsed(call.text("equation", "")));
  if (!sizes.ok() || !*sizes || call.inputs.size() != 2) return call.inputs.size() < 2 ? Dim(0) : Dim();
  Dim total = 1;
  for (const auto& [letter, size] : **sizes) total = total * size;
  return total;
}

// "..." covers an operand's axes beyond its letters. Those axes get labels of their own, counted from the
// last, so that operands of different rank broadcast.
using Labels = std::vector<int>;

Result<Labels> labels_of(std::string_view term, std::size_t rank) {
  const std::size_t dots = term.find("...");
  const std::size_t letters = dots == std::string_view::npos ? term.size() : term.size() - 3;
  if (letters > rank || (dots == std::string_view::npos && letters != rank))
    return wrong(fmt::format("'{}' names {} axes of a tensor of rank {}", shown(term), letters, rank));
  Labels labels;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      for (std::size_t k = rank - letters; k > 0; --k) labels.push_back(-static_cast<int>(k));
      i += 2;
    } else if ((term[i] >= 'a' && term[i] <= 'z') || (term[i] >= 'A' && term[i] <= 'Z')) {
      labels.push_back(term[i]);
    } else {
      return wrong(fmt::format("'{}' is not a valid term", shown(term)), "letters, and '...' at most once");
    }
  }
  return labels;
}

// A tensor with labelled axes; no label occurs twice.
template <class C>
struct Named {
  Labels labels;
  Dims sizes, strides;
  const C* data = nullptr;

  std::int64_t stride(int label) const {
    const auto found = std::ranges::find(labels, label);
    if (found == labels.end()) return 0;
    const auto i = static_cast<std::size_t>(found - labels.begin());
    return sizes[i] == 1 ? 0 : strides[i];
  }
};

// A label that occurs twice selects a diagonal: one axis with the sum of both strides.
template <class C>
Result<Named<C>> named(const Dims& dims, const Labels& labels, const C* data) {
  const Dims strides = strides_of(dims);
  Named<C> result{{}, {}, {}, data};
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto found = std::ranges::find(result.labels, labels[i]);
    if (found == result.labels.end()) {
      result.labels.push_back(labels[i]);
      result.sizes.push_back(dims[i]);
      result.strides.push_back(strides[i]);
      continue;
    }
    const auto k = static_cast<std::size_t>(found - result.labels.begin());
    if (result.sizes[k] != dims[i])
      return wrong(fmt::format("a diagonal of {} by {}", result.sizes[k], dims[i]));
    result.strides[k] += strides[i];
  }
  return result;
}

// Sums the products of a and b (or a alone) over all labels that are not in `kept`.
template <class C>
void contract(const Frame& frame, const Named<C>& a, const Named<C>& b, const Labels& kept,
              const Dims& kept_sizes, const Labels& summed, const Dims& summed_sizes, C* out) {
  Dims a_kept, b_kept, a_sum, b_sum;
  for (const int label : kept) {
    a_kept.push_back(a.stride(label));
    b_kept.push_back(b.stride(label));
  }
  for (const int label : summed) {
    a_sum.push_back(a.stride(label));
    b_sum.push_back(b.stride(label));
  }
  const std::int64_t terms = summed_sizes.count();
  const std::int64_t run = summed.empty() ? 1 : summed_sizes.back();
  const std::int64_t a_step = summed.empty() ? 0 : a_sum.back(), b_step = summed.empty() ? 0 : b_sum.back();
  const auto place = [](std::int64_t index, const Dims& sizes, std::size_t count, const Dims& x,
                        const Dims& y) {
    std::pair<std::int64_t, std::int64_t> at{0, 0};
    for (std::size_t i = count; i-- > 0;) {
      at.first += index % sizes[i] * x[i];
      at.second += index % sizes[i] * y[i];
      index /= sizes[i];
    }
    return at;
  };
  const auto body = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const auto [a_at, b_at] = place(i, kept_sizes, kept.size(), a_kept, b_kept);
      C sum = 0;
      for (std::int64_t t = 0; terms > 0 && t < terms / run; ++t) {
        const auto [a_more, b_more] =
            place(t, summed_sizes, summed.empty() ? 0 : summed.size() - 1, a_sum, b_sum);
        const C* x = a.data + a_at + a_more;
        const C* y = b.data + b_at + b_more;
        for (std::int64_t k = 0; k < run; ++k) sum = added(sum, multiplied(x[k * a_step], y[k * b_step]));
      }
      out[i] = sum;
    }
  };
  parallel(frame, kept_sizes.count(), 10.0 + 2.0 * static_cast<double>(terms), std::ref(body));
}

Result<std::int64_t> size_of(int label, std::span<const Dims> dims, std::span<const Labels> labels) {
  std::int64_t size = 1;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    for (std::size_t k = 0; k < labels[i].size(); ++k) {
      if (labels[i][k] != label || dims[i][k] == 1) continue;
      if (size != 1 && size != dims[i][k])
        return wrong(fmt::format("sizes {} and {} have one label", size, dims[i][k]));
      size = dims[i][k];
    }
  }
  return size;
}

Result<Labels> output_labels(const Equation& equation, std::span<const Labels> inputs) {
  int dots = 0;
  for (const Labels& labels : inputs) {
    for (const int label : labels) dots = std::max(dots, -label);
  }
  Labels all;
  if (equation.output) {
    const std::size_t at = equation.output->find("...");
    const std::size_t rank =
        equation.output->size() + (at == std::string::npos ? 0 : static_cast<std::size_t>(dots) - 3);
    all = TRY(labels_of(*equation.output, rank));
  } else {
    for (int k = dots; k > 0; --k) all.push_back(-k);
    for (const char letter : output_letters(equation)) {
      if (letter != '.') all.push_back(letter);
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto has = [&](const Labels& labels) { return std::ranges::find(labels, all[i]) != labels.end(); };
    if (std::ranges::none_of(inputs, has) ||
        std::find(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i), all[i]) !=
            all.begin() + static_cast<std::ptrdiff_t>(i))
      return wrong(fmt::format("the output '{}' names an axis twice, or one that no operand has",
                               equation.output.value_or("")));
  }
  return all;
}

// Contracts operands pairwise from the left; labels that no later operand needs are summed on the way.
template <class T>
Result<void> contract_all(Frame& frame, std::span<const Labels> labels, const Labels& output, Array& out,
                          const std::map<int, std::int64_t>& sizes) {
  using C = Computed<T>;
  std::vector<Named<C>> operands;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const Array& input = frame.in(i);
    const C* data = nullptr;
    if constexpr (std::is_same_v<C, T>) {
      data = input.data<T>();
    } else {
      const auto wide = TRY(frame.scratch_of<C>(input.count()));
      std::ranges::transform(input.elements<T>(), wide.begin(), [](T element) { return C(element); });
      data = wide.data();
    }
    operands.push_back(TRY(named(input.dims(), labels[i], data)));
  }
  const C one = 1;
  Named<C> left = operands[0];
  const std::size_t steps = std::max<std::size_t>(operands.size() - 1, 1);
  for (std::size_t step = 0; step < steps; ++step) {
    const Named<C> right = operands.size() > 1 ? operands[step + 1] : Named<C>{{}, {}, {}, &one};
    const auto needed = [&](int label) {
      if (std::ranges::find(output, label) != output.end()) return true;
      return std::any_of(operands.begin() + static_cast<std::ptrdiff_t>(std::min(step + 2, operands.size())),
                         operands.end(), [&](const Named<C>& later) {
                           return std::ranges::find(later.labels, label) != later.labels.end();
                         });
    };
    const bool last = step + 1 == steps;
    Labels kept = last ? output : Labels(), summed;
    for (const Labels* list : {&std::as_const(left.labels), &right.labels}) {
      for (const int label : *list) {
        Labels& into = needed(label) ? kept : summed;
        if (std::ranges::find(into, label) == into.end()) into.push_back(label);
      }
    }
    if (kept.size() > Dims::kCapacity || summed.size() > Dims::kCapacity)
      return wrong("the equation has too many axes");
    Dims kept_sizes, summed_sizes;
    for (const int label : kept) kept_sizes.push_back(sizes.at(label));
    for (const int label : summed) summed_sizes.push_back(sizes.at(label));
    const auto count = element_count(kept_sizes.span());
    if (!count || !element_count(summed_sizes.span())) return wrong("the equation is too large");
    const bool direct = last && std::is_same_v<C, T>;
    TRY(array_bytes(ElementType::float64, kept_sizes, Layout::plain));
    C* to = direct ? reinterpret_cast<C*>(out.mutable_bytes()) : TRY(frame.scratch_of<C>(*count)).data();
    contract(frame, left, right, kept, kept_sizes, summed, summed_sizes, to);
    left = {kept, kept_sizes, strides_of(kept_sizes), to};
  }
  if constexpr (!std::is_same_v<C, T>)
    std::transform(left.data, left.data + out.count(), out.mutable_data<T>(),
                   [](C value) { return T(value); });
  return {};
}

Result<void> run(Frame& frame) {
  const Equation equation = parsed(frame.text("equation", ""));
  const std::size_t count = frame.input_count();
  if (equation.terms.size() != count)
    return wrong(
        fmt::format("the equation names {} operands, the node has {}", equation.terms.size(), count));
  std::vector<Labels> labels;
  std::vector<Dims> dims;
  for (std::size_t i = 0; i < count; ++i) {
    if (!frame.datum(i).is_array() || frame.in(i).type() != frame.in(0).type()) return wrong_type(frame, i);
    labels.push_back(TRY(labels_of(equation.terms[i], frame.in(i).rank())));
    dims.push_back(frame.in(i).dims());
  }
  const Labels output = TRY(output_labels(equation, labels));
  std::map<int, std::int64_t> sizes;
  for (const Labels& list : labels) {
    for (const int label : list) sizes[label] = TRY(size_of(label, dims, labels));
  }
  if (output.size() > Dims::kCapacity) return wrong("the output has too many axes");
  Dims shape;
  for (const int label : output) shape.push_back(sizes.at(label));
  if (!for_number(frame.in(0).type(), [](auto) {})) return wrong_type(frame, 0);
  Array* out = TRY(frame.out(0, frame.in(0).type(), shape));
  Result<void> result;
  for_number(out->type(), [&]<class T>(T) { result = contract_all<T>(frame, labels, output, *out, sizes); });
  return result;
}

}  // namespace

std::span<const Descriptor> einsum_descriptors() {
  static const Descriptor all[] = {
      {.name = "Einsum",
       .domain = "",
       .since = {12},
       .infer = infer,
       .macs = macs,
       .run = run,
       .traits = {.role = Traits::Role::compute, .data = {-1}, .weights = {{0}, {1}}}}};
  return all;
}

}  // namespace anybit::ops
