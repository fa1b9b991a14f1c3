// Out of memory is an ordinary error. (Sanitizers do not let a test really run out of it.)
#include "base/guard.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace anybit {
namespace {

TEST(Guard, AFailedAllocationIsAnError) {
  const auto no_memory = guarded([]() -> Result<int> { throw std::bad_alloc(); });
  EXPECT_EQ(no_memory.error().code, Code::out_of_memory);
}

TEST(Guard, AContainerThatCannotExistIsAnError) {
  const auto too_long = guarded([]() -> Result<int> {
    std::vector<int> list;
    list.reserve(list.max_size() + 1);
    return 1;
  });
  EXPECT_EQ(too_long.error().code, Code::out_of_memory);
}

TEST(Guard, ResultsAndErrorsPassThrough) {
  EXPECT_EQ(*guarded([]() -> Result<int> { return 3; }), 3);
  EXPECT_EQ(guarded([]() -> Result<int> { return Error{Code::io, "x", {}, {}}; }).error().code, Code::io);
}

}  // namespace
}  // namespace anybit
