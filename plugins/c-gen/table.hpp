// The table of supported operators. A row describes how to generate one; the build makes the table from
// ops/*.cpp, each of which exports `std::span<const Descriptor> <file's name>_descriptors()`.
#pragma once

#include <span>
#include <string_view>

namespace anybit::cgen {

class Node;

// Whether output 0 may be written in place over an input of the same C type without further uses. That
// requires that no element of the input is read after the output element at the same index is written, as in
// loops over elements in order. The core checks that the element counts are equal.
enum class InPlace : bool { no, yes };

// The destination of an operator's code.
enum class Place : std::uint8_t {
  function,  // a function with parameters x0, x1, … and y0, y1, …
  inside,    // inline in the calling code: for operators with subgraphs (If, Loop)
  nowhere,   // no code: output 0 aliases input 0 (Reshape)
};

struct Descriptor {
  std::string_view op;
  std::string_view domain = "";
  // Writes the body; rejects unsupported nodes (Node::refuse).
  void (*emit)(Node& node) = nullptr;
  InPlace in_place = InPlace::no;
  Place place = Place::function;
};

bool before(const Descriptor& a, const Descriptor& b);
std::span<const Descriptor* const> table();
// Null if the operator is unsupported.
const Descriptor* find(std::string_view op, std::string_view domain);

}  // namespace anybit::cgen
