// RegexFullMatch: whether entire strings match a pattern in RE2's syntax. ONNX: RegexFullMatch-20. Uses RE2
// itself: patterns come from untrusted models, and RE2's time is linear in the text for every pattern.
#include <re2/re2.h>

#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

struct Pattern final : Prepared {
  explicit Pattern(std::string_view text) : regex(re2::StringPiece(text.data(), text.size()), RE2::Quiet) {}
  RE2 regex;
};

Result<Values> infer(const Call& call) {
  return outputs_of(call, tensor(ElementType::boolean, call.in(0).shape));
}

Result<std::shared_ptr<const Pattern>> compile(const Attributes& node) {
  auto pattern = std::make_shared<const Pattern>(node.text("pattern", ""));
  if (!pattern->regex.ok()) {
    return wrong(fmt::format("the pattern '{}' is not a regular expression: {}",
                             shown(node.text("pattern", "")), shown(pattern->regex.error())),
                 "RE2's syntax");
  }
  return pattern;
}

Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  return std::shared_ptr<const Prepared>(TRY(compile(setup)));
}

Result<void> run(Frame& frame) {
  const Array& in = frame.in(0);
  if (in.type() != ElementType::string) return wrong_type(frame, 0);
  std::shared_ptr<const Pattern> own;
  const Pattern* pattern = frame.prepared<Pattern>();
  if (!pattern) {
    own = TRY(compile(frame));
    pattern = own.get();
  }
  Array* out = TRY(frame.out(0, ElementType::boolean, in.dims()));
  bool* matches = out->mutable_data<bool>();
  for (const std::string& text : in.elements<std::string>()) {
    *matches++ = RE2::FullMatch(text, pattern->regex);
  }
  return {};
}

}  // namespace

std::span<const Descriptor> regex_full_match_descriptors() {
  static const Descriptor all[] = {{.name = "RegexFullMatch",
                                    .domain = "",
                                    .since = {20},
                                    .infer = infer,
                                    .run = run,
                                    .prepare = prepare}};
  return all;
}

}  // namespace anybit::ops
