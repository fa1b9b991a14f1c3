#include "runtime/fuse.hpp"

#include <tuple>

#include "base/try.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {

bool before(const Descriptor& a, const Descriptor& b) {
  return std::tie(a.order, a.name) < std::tie(b.order, b.name);
}

Result<void> fuse(Program& program) {
  for (const Descriptor* one : table()) TRY(one->run(program));
  return {};
}

}  // namespace anybit::runtime
