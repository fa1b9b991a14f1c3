// The table of number formats: every .cpp of this folder that exports descriptors is in it.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "anybit/formats.hpp"
#include "formats/codec.hpp"
#include "formats/value.hpp"

namespace anybit::formats {

struct Parameter {
  std::string_view name;
  Value preset;  // the default; its alternative is the parameter's type
  std::string_view doc;
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  std::vector<std::string_view> choices = {};  // for strings; empty: anything
};

using anybit::Granularity;

struct Descriptor {
  std::string_view name;     // "mxfp4_e2m1"
  std::string_view family;   // "mx": the file that holds it
  std::string_view summary;  // one line
  std::vector<Parameter> parameters;
  Granularity granularity = Granularity::element;  // unless the caller says otherwise
  std::int64_t block_size = 0;                     // the default where granularity is block
  std::string_view float_type = {};  // of ONNX and ml_dtypes, with the same codes: "float8_e4m3fn"; or none
  std::vector<std::string_view> other_names = {};  // in other tools and papers, in small letters
  bool vanishing = false;   // so coarse that values vanish in models which were not trained with it
  bool multiplied = false;  // codes are multiplied as they are, without floats
  // Fixes the parameters that go by the values otherwise, for values that are not known ahead.
  void (*settle)(Values& given) = nullptr;
  // `values` has every parameter, of the right type and within its bounds.
  std::function<Result<std::shared_ptr<const Codec>>(const Values& values)> make;
};

bool before(const Descriptor& a, const Descriptor& b);
std::span<const Descriptor* const> table();

// An unknown name is an error that offers the nearest ones.
Result<const Descriptor*> find(std::string_view name);
// Defaults filled in; unknown names, wrong types and values out of bounds are errors.
Result<Values> complete(const Descriptor& format, const Values& given);
// A parameter from text, read as the type that the format's parameter has.
Result<Value> parse(const Descriptor& format, std::string_view name, std::string_view text);
// find, complete, make.
Result<std::shared_ptr<const Codec>> make(std::string_view name, const Values& given = {});

}  // namespace anybit::formats
