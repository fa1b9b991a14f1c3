// The public recipe and options as the quantizer takes them.
#pragma once

#include <memory>
#include <utility>

#include "anybit/quantize.hpp"
#include "quantize/quantize.hpp"

namespace anybit {

struct Recipe::Content {
  quantizing::Recipe recipe;
};

struct RecipeAccess {
  static Recipe make(quantizing::Recipe recipe) {
    return Recipe(std::make_shared<const Recipe::Content>(Recipe::Content{std::move(recipe)}));
  }
  static const quantizing::Recipe& of(const Recipe& recipe) { return recipe.content_->recipe; }
};

// `options.ranges` must outlive the result.
Result<quantizing::Settings> settings_of(const Model& model, const quantizing::Recipe& recipe,
                                         const QuantizeOptions& options);

}  // namespace anybit
