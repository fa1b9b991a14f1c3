// The formats that are ONNX types.
#include "lower/standard.hpp"

#include <gtest/gtest.h>

#include "formats/table.hpp"

namespace anybit::lower {
namespace {

formats::Use use_of(std::string_view format) {
  formats::Use use;
  use.format = format;
  return use;
}

TEST(Standard, TypesOfFormatsAreOnnxTypesOfTheSameWidth) {
  int known = 0;
  for (const formats::Descriptor* one : formats::table()) {
    if (one->float_type.empty()) continue;
    const graph::ElementTypeInfo* type = graph::find_element_type(one->float_type);
    ASSERT_NE(type, nullptr) << one->name;
    EXPECT_EQ(type->bits, (*formats::make(one->name))->bits()) << one->name;
    ++known;
  }
  EXPECT_EQ(known, 8);
}

TEST(Standard, ValuesThatCastWouldMakeInfiniteAreClipped) {
  for (const char* name : {"float16", "bfloat16"}) {
    const StandardType standard = standard_type(use_of(name));
    EXPECT_EQ(graph::name_of(standard.type), name);
    EXPECT_EQ(standard.largest, (*formats::make(name))->properties().largest) << name;
  }
}

TEST(Standard, QuantizeLinearSupportsTheSigned8BitFloats) {
  EXPECT_EQ(linear_float(use_of("fp8_e4m3")), graph::ElementType::float8e4m3fn);
  EXPECT_EQ(linear_float(use_of("fp8_e5m2fnuz")), graph::ElementType::float8e5m2fnuz);
  for (const char* name : {"fp4_e2m1", "fp8_e8m0", "float16", "mxfp8_e4m3", "int8"})
    EXPECT_EQ(linear_float(use_of(name)), graph::ElementType::undefined) << name;
}

}  // namespace
}  // namespace anybit::lower
