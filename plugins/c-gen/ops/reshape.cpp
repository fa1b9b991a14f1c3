// Operators that keep the elements in place: no code.
#include "node.hpp"

namespace anybit::cgen {

std::span<const Descriptor> reshape_descriptors() {
  static const Descriptor all[] = {{.op = "Flatten", .place = Place::nowhere},
                                   {.op = "Identity", .place = Place::nowhere},
                                   {.op = "Reshape", .place = Place::nowhere},
                                   {.op = "Squeeze", .place = Place::nowhere},
                                   {.op = "Unsqueeze", .place = Place::nowhere}};
  return all;
}

}  // namespace anybit::cgen
