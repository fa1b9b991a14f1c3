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
  std::vector<std::string_view> choices = {};  // for strings; empty: any
};

using anybit::Granularity;

struct Descriptor {
  std::string_view name;     // "mxfp4_e2m1"
  std::string_view family;   // "mx": its source file
  std::string_view summary;  // one line
  std::vector<Parameter> parameters;
  Granularity granularity = Granularity::element;  // default
  std::int64_t block_size = 0;                     // default for blocks
  std::string_view float_type =
      {};  // type of ONNX and ml_dtypes with the same codes, "float8_e4m3fn"; empty: none
  std::vector<std::string_view> other_names = {};  // in other tools and papers, in lower case
  bool vanishing = false;   // so coarse that weights vanish in models that were not trained with it
  bool multiplied = false;  // kernels multiply the codes directly, without floats
  // Fixes data-dependent parameters, for values that are not known in advance.
  void (*settle)(Values& given) = nullptr;
  // `values` has every parameter, with the right type and within its bounds.
  std::function<Result<std::shared_ptr<const Codec>>(const Values& values)> make;
};

bool before(const Descriptor& a, const Descriptor& b);
std::span<const Descriptor* const> table();

// The error for an unknown name suggests the nearest ones.
Result<const Descriptor*> find(std::string_view name);
// Fills in defaults; rejects unknown names, wrong types and values out of bounds.
Result<Values> complete(const Descriptor& format, const Values& given);
// Parses the text of a parameter as the parameter's type.
Result<Value> parse(const Descriptor& format, std::string_view name, std::string_view text);
// find, complete, make.
Result<std::shared_ptr<const Codec>> make(std::string_view name, const Values& given = {});

}  // namespace anybit::formats
