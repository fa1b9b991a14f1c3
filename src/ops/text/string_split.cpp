// StringSplit: strings split at a delimiter; shorter rows are padded with empty strings. ONNX:
// StringSplit-20.
#include <limits>

#include "base/checked.hpp"
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  Values values = unknown_outputs(call);
  Value parts = tensor(ElementType::string, call.in(0).shape);
  if (parts.shape) parts.shape->push_back(Dim());
  if (!values.empty()) values[0] = std::move(parts);
  if (values.size() > 1) values[1] = tensor(ElementType::int64, call.in(0).shape);
  return values;
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Without a delimiter: splits at runs of white space. The rest after the last split keeps its trailing space,
// as in Python's str.split, which is ONNX's reference.
std::vector<std::string_view> words_of(std::string_view text, std::int64_t most_cuts) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  for (;;) {
    while (at < text.size() && is_space(text[at])) ++at;
    if (at == text.size()) return words;
    std::size_t end = at;
    if (static_cast<std::int64_t>(words.size()) == most_cuts) {
      words.push_back(text.substr(at));
      return words;
    }
    while (end < text.size() && !is_space(text[end])) ++end;
    words.push_back(text.substr(at, end - at));
    at = end;
  }
}

std::vector<std::string_view> parts_of(std::string_view text, std::string_view delimiter,
                                       std::int64_t most_cuts) {
  if (delimiter.empty()) return words_of(text, most_cuts);
  std::vector<std::string_view> parts;
  while (static_cast<std::int64_t>(parts.size()) < most_cuts) {
    const std::size_t found = text.find(delimiter);
    if (found == std::string_view::npos) break;
    parts.push_back(text.substr(0, found));
    text.remove_prefix(found + delimiter.size());
  }
  parts.push_back(text);
  return parts;
}

Result<void> run(Frame& frame) {
  const Array& in = frame.in(0);
  if (in.type() != ElementType::string) return wrong_type(frame, 0);
  if (in.rank() >= Dims::kCapacity) return wrong("the tensor has too many dimensions");
  const std::string_view delimiter = frame.text("delimiter", "");
  const std::int64_t most_cuts = frame.integer("maxsplit", std::numeric_limits<std::int64_t>::max());
  if (most_cuts < 0) return wrong(fmt::format("maxsplit is {}", most_cuts), "0 or more");
  Array* counts = TRY(frame.out(1, ElementType::int64, in.dims()));
  std::vector<std::vector<std::string_view>> rows;
  std::size_t widest = 0;
  for (const std::string& text : in.elements<std::string>()) {
    rows.push_back(parts_of(text, delimiter, most_cuts));
    widest = std::max(widest, rows.back().size());
    counts->mutable_data<std::int64_t>()[rows.size() - 1] = static_cast<std::int64_t>(rows.back().size());
  }
  Dims dims = in.dims();
  dims.push_back(static_cast<std::int64_t>(widest));
  Array* out = TRY(frame.out(0, ElementType::string, dims));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::ranges::copy(rows[i], out->mutable_data<std::string>() + i * widest);
  }
  return {};
}

}  // namespace

std::span<const Descriptor> string_split_descriptors() {
  static const Descriptor all[] = {
      {.name = "StringSplit", .domain = "", .since = {20}, .infer = infer, .run = run}};
  return all;
}

}  // namespace anybit::ops
