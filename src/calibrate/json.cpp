#include "calibrate/json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace anybit {

// Builds a tree from the events of the library's SAX parser.
class JsonBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonBuilder(JsonTree& root, const JsonTree::Limits& limits) : root_(root), limits_(limits) {}

  bool null() override { return add({}); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add(value); }
  bool number_unsigned(std::uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::make_unique<std::string>(std::move(value))); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool key(std::string& name) override {
    name_ = std::move(name);
    return true;
  }
  bool start_object(std::size_t) override { return open(std::make_unique<JsonTree::Members>()); }
  bool start_array(std::size_t) override { return open(std::make_unique<JsonTree::Items>()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }
  bool too_much() const { return too_much_; }

 private:
  using Value = decltype(JsonTree::value_);

  bool add(Value value) {
    too_much_ = too_much_ || ++values_ > limits_.values;
    if (too_much_) return false;
    target(std::move(value));
    return true;
  }

  JsonTree& target(Value value) {
    JsonTree* place = &root_;
    if (!open_.empty()) {
      JsonTree& around = *open_.back();
      if (auto* items = std::get_if<std::unique_ptr<JsonTree::Items>>(&around.value_)) {
        place = &(*items)->emplace_back();
      } else {
        auto& members = *std::get<std::unique_ptr<JsonTree::Members>>(around.value_);
        place = &members.emplace_back(std::move(name_), JsonTree()).second;
      }
    }
    place->value_ = std::move(value);
    return *place;
  }

  // The address of an open container is stable: nothing is appended beside it until it is closed.
  bool open(Value value) {
    too_much_ = too_much_ || ++values_ > limits_.values || std::ssize(open_) >= limits_.depth;
    if (too_much_) return false;
    open_.push_back(&target(std::move(value)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  JsonTree& root_;
  const JsonTree::Limits& limits_;
  std::vector<JsonTree*> open_;
  std::string name_;
  std::size_t values_ = 0;
  bool too_much_ = false;
};

Result<JsonTree> JsonTree::parse(std::string_view text, const Limits& limits) {
  if (text.size() > limits.bytes)
    return error_at(Code::limit_exceeded, {}, fmt::format("{} bytes are too many", text.size()));
  JsonTree root;
  JsonBuilder builder(root, limits);
  if (nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) return root;
  if (builder.too_much())
    return error_at(Code::limit_exceeded, {}, "there are too many values, or they are too deeply nested");
  return error_at(Code::malformed, {}, "it is no JSON");
}

const JsonTree::Members* JsonTree::members() const {
  const auto* found = std::get_if<std::unique_ptr<Members>>(&value_);
  return found ? found->get() : nullptr;
}

const std::string* JsonTree::text() const {
  const auto* found = std::get_if<std::unique_ptr<std::string>>(&value_);
  return found ? found->get() : nullptr;
}

bool JsonTree::is_number() const { return natural() || negative() || std::holds_alternative<double>(value_); }

double JsonTree::number() const {
  if (const auto* found = natural()) return static_cast<double>(*found);
  if (const auto* found = negative()) return static_cast<double>(*found);
  return std::get<double>(value_);
}

const JsonTree* JsonTree::find(std::string_view name) const {
  const Members* all = members();
  if (!all) return nullptr;
  const auto found = std::ranges::find(*all, name, &Members::value_type::first);
  return found == all->end() ? nullptr : &found->second;
}

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_number(double number) {
  std::string text = fmt::format("{}", number);
  // Reals have a decimal point, so that they are read as reals and -0 keeps its sign.
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

}  // namespace anybit
