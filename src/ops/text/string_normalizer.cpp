// StringNormalizer: removes stop words and changes case. ONNX: StringNormalizer-10.
#include <locale.h>
#include <clocale>
#include <cwctype>
#include <unordered_set>

#include "base/utf.hpp"
#include "ops/check.hpp"
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  Value value = tensor(ElementType::string, call.in(0).shape);
  if (value.shape && !value.shape->empty()) value.shape->back() = Dim();
  return outputs_of(call, std::move(value));
}

enum class Case { kept, lower, upper };

// Case conversion of a locale; falls back to C.UTF-8 if the system lacks the locale.
class Caser {
 public:
  explicit Caser(const std::string& name) {
    for (const char* one : {name.c_str(), "C.UTF-8", "C.utf8"}) {
      if (!locale_ && *one) locale_ = newlocale(LC_CTYPE_MASK, one, nullptr);
    }
  }
  ~Caser() {
    if (locale_) freelocale(locale_);
  }
  Caser(const Caser&) = delete;
  Caser& operator=(const Caser&) = delete;

  std::string change(const std::string& text, Case how) const {
    if (how == Case::kept) return text;
    auto points = from_utf8(text);
    if (!points) return text;
    for (char32_t& point : *points) point = changed(point, how);
    return to_utf8(*points).value_or(text);
  }

 private:
  char32_t changed(char32_t point, Case how) const {
    const auto wide = static_cast<wint_t>(point);
    if (locale_) {
      const wint_t other = how == Case::lower ? towlower_l(wide, locale_) : towupper_l(wide, locale_);
      return static_cast<char32_t>(other);
    }
    const bool letter = how == Case::lower ? point >= U'A' && point <= U'Z' : point >= U'a' && point <= U'z';
    return letter ? point ^ 0x20 : point;
  }
  locale_t locale_ = nullptr;
};

Result<Case> action_of(const Frame& frame) {
  const std::string_view name = frame.text("case_change_action", "NONE");
  if (name == "NONE") return Case::kept;
  if (name == "LOWER") return Case::lower;
  if (name == "UPPER") return Case::upper;
  return wrong(fmt::format("case_change_action is '{}'", shown(name)), "NONE, LOWER or UPPER");
}

Result<void> run(Frame& frame) {
  const Array& in = frame.in(0);
  if (in.type() != ElementType::string) return wrong_type(frame, 0);
  if (in.rank() < 1 || in.rank() > 2 || (in.rank() == 2 && in.dim(0) != 1)) {
    return wrong(fmt::format("the input is {}", to_string(in)), "one row of strings: [C] or [1, C]");
  }
  const Case action = TRY(action_of(frame));
  const Caser caser(std::string(frame.text("locale", "")));
  const Case compared = frame.flag("is_case_sensitive") ? Case::kept : Case::lower;
  std::unordered_set<std::string> stop_words;
  if (const auto words = frame.texts("stopwords")) {
    for (const std::string& word : *words) stop_words.insert(caser.change(word, compared));
  }
  if (only_checks(frame)) return {};
  std::vector<std::string> kept;
  for (const std::string& text : in.elements<std::string>()) {
    if (stop_words.empty() || !stop_words.contains(caser.change(text, compared)))
      kept.push_back(caser.change(text, action));
  }
  if (kept.empty()) kept.emplace_back();
  Dims dims = in.dims();
  dims.back() = static_cast<std::int64_t>(kept.size());
  Array* out = TRY(frame.out(0, ElementType::string, dims));
  std::ranges::move(kept, out->mutable_data<std::string>());
  return {};
}

}  // namespace

std::span<const Descriptor> string_normalizer_descriptors() {
  static const Descriptor all[] = {
      {.name = "StringNormalizer", .domain = "", .since = {10}, .infer = infer, .run = run}};
  return all;
}

}  // namespace anybit::ops
