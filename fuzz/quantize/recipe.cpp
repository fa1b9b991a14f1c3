// Text → recipe: YAML with anchors and aliases, JSON, dictionaries of other tools. Every rule has a place;
// otherwise there is an error with a message.
#include <string>

#include "../require.hpp"
#include "quantize/recipe.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace anybit;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto recipe = quantizing::read_recipe(text, "fuzz");
  if (!recipe.ok()) {
    require(!recipe.error().message.empty(), "an error without a message");
    return 0;
  }
  require(recipe->rules.size() <= size, "more rules than bytes");
  for (const quantizing::Rule& rule : recipe->rules) require(!rule.place.empty(), "a rule without a place");
  return 0;
}
