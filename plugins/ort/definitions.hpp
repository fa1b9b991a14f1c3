// The operators of the library, as ONNX Runtime has to know them before it loads a model.
#pragma once

#include <span>

#include "abi.hpp"

namespace anybit::ort {

enum class AttributeKind { integer, real, text, integers, reals };

struct Attribute {
  const char* name;
  AttributeKind kind;
};

struct Input {
  ElementType type;  // kAnyType: checked by the operator when it runs
  Characteristic characteristic = kRequired;
};

struct Definition {
  const char *domain, *name;
  std::span<const Attribute> attributes;
  std::span<const Input> inputs;
  ElementType output;  // kAnyType: that of input 0
};

// Sorted by domain.
std::span<const Definition> definitions();

}  // namespace anybit::ort
