#include <fmt/format.h>

#include "base/error.hpp"
#include "graph/verify_parts.hpp"

namespace anybit::graph::verifier {

std::string quoted(std::string_view name) { return fmt::format("'{}'", shown(name)); }

std::string Place::step() const {
  if (node_) return place_of(*node_, index_);
  if (!name_.empty()) return fmt::format("{} {}", shown(word_), quoted(name_));
  if (index_ != kNoIndex) return fmt::format("{} {}", shown(word_), index_);
  return shown(word_);
}

std::string Place::text() const { return outer_ ? outer_->text() + " > " + step() : step(); }

Error Place::invalid(std::string message, std::string hint) const {
  return invalid_model(text(), std::move(message), std::move(hint));
}

Error Place::limit(std::string message) const {
  return error_at(Code::limit_exceeded, text(), std::move(message),
                  "raise the limit if the model is what you expect");
}

}  // namespace anybit::graph::verifier
