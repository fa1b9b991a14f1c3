// Annotates one graph by a recipe, without its subgraphs.
#pragma once

#include "quantize/annotation.hpp"
#include "quantize/scope.hpp"

namespace anybit::quantizing {

Result<void> annotate_one(const Scope& scope, Matcher& matcher, const Target& target, GraphNotes& notes);

}  // namespace anybit::quantizing
