#include "runtime/fuse.hpp"

#include <tuple>

#include "base/try.hpp"

namespace anybit::runtime {

bool before(const Descriptor& a, const Descriptor& b) {
  return std::tie(a.order, a.name) < std::tie(b.order, b.name);
}

Result<void> fuse(Program& program, const Resources& resources, Purpose purpose) {
  const For other = purpose == Purpose::run ? For::generating : For::running;
  for (const Descriptor* one : table()) {
    if (one->whom != other) TRY(one->run(program, resources));
  }
  return {};
}

}  // namespace anybit::runtime
