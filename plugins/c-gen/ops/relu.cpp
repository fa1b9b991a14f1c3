// Relu.
#include "node.hpp"

namespace anybit::cgen {
namespace {

void relu(Node& node) {
  node.loop("i", node.out().count());
  node.line("{0}[i] = {1}[i] > 0 ? {1}[i] : 0;", node.y(), node.x(0));
  node.end();
}

}  // namespace

std::span<const Descriptor> relu_descriptors() {
  static const Descriptor all[] = {{.op = "Relu", .emit = relu, .in_place = InPlace::yes}};
  return all;
}

}  // namespace anybit::cgen
