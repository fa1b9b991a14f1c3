// Parses the literal directly: only valid headers are accepted, everything else is an error.
#include "base/npy_header.hpp"

#include <charconv>
#include <optional>

#include "base/error.hpp"
#include "base/try.hpp"

namespace anybit {
namespace {

constexpr std::size_t kMostDims = 64;

Error bad_header(std::string_view why) {
  return error_at(Code::malformed, {}, fmt::format("not a .npy file: its header {}", why));
}

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool take(char c) {
    skip_blanks();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  char peek() {
    skip_blanks();
    return rest_.empty() ? '\0' : rest_[0];
  }
  std::optional<std::string_view> take_text() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }
  std::optional<std::int64_t> take_size() {
    skip_blanks();
    std::int64_t number = 0;
    const auto [end, problem] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (problem != std::errc() || number < 0) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    take('L');  // written by Python 2
    return number;
  }
  bool at_end() { return peek() == '\0'; }

 private:
  void skip_blanks() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\t'))
      rest_.remove_prefix(1);
  }
  std::string_view rest_;
};

Result<void> read_descr(Reader& reader, NpyHeader& header) {
  if (reader.peek() == '[') {
    return error_at(Code::unsupported, {}, "the array has records with several fields",
                    "save each field as an array of its own");
  }
  const auto descr = reader.take_text();
  if (!descr || descr->size() < 2) return bad_header("has no type");
  if ((*descr)[1] == 'O') {
    return error_at(Code::unsupported, {}, "the array holds Python objects, which are never loaded",
                    "save an array of numbers");
  }
  header.order = (*descr)[0];
  header.kind = (*descr)[1];
  const auto [end, problem] = std::from_chars(descr->data() + 2, descr->data() + descr->size(), header.size);
  const bool whole = problem == std::errc() && end == descr->data() + descr->size() && header.size >= 0;
  const bool ordered =
      header.order == '<' || header.order == '>' || header.order == '|' || header.order == '=';
  if (!ordered) return bad_header(fmt::format("has the type '{}'", shown(*descr)));
  if (!whole) {  // '<M8[D]': a time, with its unit
    return error_at(Code::unsupported, {}, fmt::format("values of type '{}' are not read", shown(*descr)),
                    "float16, float32, float64, integers or bool");
  }
  return {};
}

Result<void> read_shape(Reader& reader, NpyHeader& header) {
  if (!reader.take('(')) return bad_header("has no shape");
  while (!reader.take(')')) {
    const auto size = reader.take_size();
    if (!size) return bad_header("has a shape that is not a list of sizes");
    header.shape.push_back(*size);
    if (header.shape.size() > kMostDims) {
      return error_at(Code::limit_exceeded, {}, fmt::format("more than {} dimensions", kMostDims));
    }
    if (!reader.take(',') && reader.peek() != ')')
      return bad_header("has a shape that is not a list of sizes");
  }
  return {};
}

Result<void> read_order(Reader& reader, NpyHeader& header) {
  header.fortran_order = reader.take("True");
  if (!header.fortran_order && !reader.take("False")) return bad_header("lacks fortran_order");
  return {};
}

}  // namespace

Result<NpyHeader> parse_npy_header(std::string_view text) {
  NpyHeader header;
  Reader reader(text);
  bool descr = false, order = false, shape = false;
  if (!reader.take('{')) return bad_header("is not a dictionary");
  while (!reader.take('}')) {
    const auto key = reader.take_text();
    if (!key || !reader.take(':')) return bad_header("is not a dictionary");
    bool& seen = *key == "descr" ? descr : *key == "fortran_order" ? order : shape;
    if (seen) return bad_header(fmt::format("says '{}' twice", shown(*key)));
    seen = true;
    if (*key == "descr") {
      TRY(read_descr(reader, header));
    } else if (*key == "fortran_order") {
      TRY(read_order(reader, header));
    } else if (*key == "shape") {
      TRY(read_shape(reader, header));
    } else {
      return bad_header(fmt::format("has the unknown key '{}'", shown(*key)));
    }
    if (!reader.take(',') && reader.peek() != '}') return bad_header("is not a dictionary");
  }
  if (!descr || !order || !shape) return bad_header("lacks descr, fortran_order or shape");
  if (!reader.at_end()) return bad_header("goes on after its end");
  return header;
}

}  // namespace anybit
