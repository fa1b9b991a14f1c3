#include <gtest/gtest.h>

#include "anybit/anybit.h"

namespace anybit {
namespace {

// A C program can pass any number; sanitizers detect its use as an enumerator.
TEST(DeviceApi, NumbersOutsideAnEnumerationAreRejected) {
  anybit_session* session = nullptr;
  ASSERT_EQ(anybit_create_session(&session), ANYBIT_OK);
  const int odd = 1 << 20;
  EXPECT_NE(anybit_set_limit(session, static_cast<anybit_limit>(odd), 1), ANYBIT_OK);
  EXPECT_NE(anybit_set_execute_config(session, static_cast<std::uint32_t>(odd)), ANYBIT_OK);
  EXPECT_NE(anybit_codegen(session, "c-gen", static_cast<anybit_preference>(odd)), ANYBIT_OK);
  EXPECT_NE(anybit_set_quantization_type(session, static_cast<anybit_quantization_type>(odd)), ANYBIT_OK);
  anybit_close_session(session);
}

}  // namespace
}  // namespace anybit
