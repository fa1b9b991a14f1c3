// The operators that can be generated. A row tells how one becomes C; the table is made from ops/*.cpp, each
// of which exports `std::span<const Descriptor> <file's name>_descriptors()`.
#pragma once

#include <span>
#include <string_view>

namespace anybit::cgen {

class Node;

// Whether output 0 may be written over an input of the same C type that nobody needs any more. It may if an
// element of that input is never read after the element of output 0 with the same number was written, which
// holds for loops over elements in order. Shapes are compared by the core: equal numbers of elements.
enum class InPlace : bool { no, yes };

// Where an operator's text goes.
enum class Place : std::uint8_t {
  function,  // into a function of its own, whose parameters are x0, x1, … and y0, y1, …
  inside,    // into the code that calls such functions: for operators that run graphs (If, Loop)
  nowhere,   // output 0 has the elements of input 0 in the same order (Reshape): the same memory, no code
};

struct Descriptor {
  std::string_view op;
  std::string_view domain = "";
  // Writes the body. What it cannot do it refuses (Node::refuse).
  void (*emit)(Node& node) = nullptr;
  InPlace in_place = InPlace::no;
  Place place = Place::function;
};

bool before(const Descriptor& a, const Descriptor& b);
std::span<const Descriptor* const> table();
// Null if it cannot be generated.
const Descriptor* find(std::string_view op, std::string_view domain);

}  // namespace anybit::cgen
