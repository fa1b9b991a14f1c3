#include "element.hpp"

namespace anybit::cgen {
namespace {

using enum Element;

constexpr ElementInfo kTypes[] = {
    {none, "", "", 0, 0, Kind::real},
    {float32, "float32", "float", 32, 4, Kind::real},
    {float64, "float64", "double", 64, 8, Kind::real},
    {float16, "float16", "uint16_t", 16, 2, Kind::small_real},
    {bfloat16, "bfloat16", "uint16_t", 16, 2, Kind::small_real},
    {int8, "int8", "int8_t", 8, 1, Kind::integer, -128, 127},
    {uint8, "uint8", "uint8_t", 8, 1, Kind::integer, 0, 255},
    {int16, "int16", "int16_t", 16, 2, Kind::integer, -32768, 32767},
    {uint16, "uint16", "uint16_t", 16, 2, Kind::integer, 0, 65535},
    {int32, "int32", "int32_t", 32, 4, Kind::integer, INT32_MIN, INT32_MAX},
    {uint32, "uint32", "uint32_t", 32, 4, Kind::integer, 0, UINT32_MAX},
    {int64, "int64", "int64_t", 64, 8, Kind::integer},
    {uint64, "uint64", "uint64_t", 64, 8, Kind::integer},
    {boolean, "bool", "uint8_t", 8, 1, Kind::boolean},
    {int4, "int4", "int8_t", 4, 1, Kind::integer, -8, 7},
    {uint4, "uint4", "uint8_t", 4, 1, Kind::integer, 0, 15},
    {int2, "int2", "int8_t", 2, 1, Kind::integer, -2, 1},
    {uint2, "uint2", "uint8_t", 2, 1, Kind::integer, 0, 3},
    {float8_e4m3fn, "float8_e4m3fn", "uint8_t", 8, 1, Kind::small_real},
    {float8_e4m3fnuz, "float8_e4m3fnuz", "uint8_t", 8, 1, Kind::small_real},
    {float8_e5m2, "float8_e5m2", "uint8_t", 8, 1, Kind::small_real},
    {float8_e5m2fnuz, "float8_e5m2fnuz", "uint8_t", 8, 1, Kind::small_real},
    {float8_e8m0, "float8_e8m0fnu", "uint8_t", 8, 1, Kind::small_real},
    {float4_e2m1, "float4_e2m1fn", "uint8_t", 4, 1, Kind::small_real},
};

}  // namespace

const ElementInfo& info(Element type) { return kTypes[static_cast<int>(type)]; }

Element element_named(std::string_view name) {
  for (const ElementInfo& one : kTypes) {
    if (one.type != none && one.name == name) return one.type;
  }
  return none;
}

}  // namespace anybit::cgen
