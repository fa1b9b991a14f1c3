// Number formats on tensors. Values, codes and packed bytes are flat buffers; the Python package reshapes
// them.
#include "anybit/formats.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "errors.hpp"
#include "parts.hpp"
#include "text.hpp"

namespace anybit::python {
namespace {

using Names = std::map<std::string, ParameterValue>;

template <class T>
std::span<const T> elements(const Array& bytes) {
  return {reinterpret_cast<const T*>(bytes.bytes.data()), bytes.bytes.size() / sizeof(T)};
}

// Memory for a result, and the numpy array that owns it.
template <class T>
struct Made {
  std::shared_ptr<std::vector<T>> values;
  explicit Made(std::int64_t count)
      : values(std::make_shared<std::vector<T>>(static_cast<std::size_t>(count))) {}
  std::span<T> span() { return *values; }
  ByteArray array() { return byte_array(std::as_bytes(std::span(*values)), values); }
};

// The parameters that groups share. Opaque to Python.
struct Shared {
  GroupParameters words;
};

TensorFormat made(const std::string& name, std::vector<std::int64_t> dims, const Names& parameters,
                  const std::optional<std::string>& granularity, std::optional<std::int64_t> axis,
                  std::optional<std::int64_t> block_size, std::vector<std::int64_t> block,
                  const std::string& rounding, std::uint64_t seed, bool allow_nonfinite, int threads) {
  TensorFormatOptions options;
  options.parameters.insert(parameters.begin(), parameters.end());
  if (granularity) options.granularity = take(granularity_named(*granularity));
  options.axis = axis;
  options.block_size = block_size;
  options.block = std::move(block);
  options.rounding = take(rounding_named(rounding));
  options.seed = seed;
  options.allow_nonfinite = allow_nonfinite;
  options.threads = threads;
  return take(TensorFormat::make(name, std::move(dims), options));
}

Shared choose(const TensorFormat& format, nb::handle values) {
  const Array from = borrow("float32", {}, values);
  return {take(released([&] { return format.choose(elements<float>(from)); }))};
}

ByteArray quantized(const TensorFormat& format, nb::handle values, const Shared& shared) {
  const Array from = borrow("float32", {}, values);
  Made<float> to(format.count());
  take(released([&] { return format.quantize(elements<float>(from), shared.words, to.span()); }));
  return to.array();
}

ByteArray encoded(const TensorFormat& format, nb::handle values, const Shared& shared) {
  const Array from = borrow("float32", {}, values);
  Made<std::uint16_t> to(format.count());
  take(released([&] { return format.encode(elements<float>(from), shared.words, to.span()); }));
  return to.array();
}

ByteArray decoded(const TensorFormat& format, nb::handle codes, const Shared& shared) {
  const Array from = borrow("uint16", {}, codes);
  Made<float> to(format.count());
  take(released([&] { return format.decode(elements<std::uint16_t>(from), shared.words, to.span()); }));
  return to.array();
}

ByteArray packed(const TensorFormat& format, nb::handle codes) {
  const Array from = borrow("uint16", {}, codes);
  Made<std::uint8_t> to(format.packed_bytes());
  take(released([&] { return format.pack(elements<std::uint16_t>(from), to.span()); }));
  return to.array();
}

ByteArray unpacked(const TensorFormat& format, nb::handle bytes) {
  const Array from = borrow("uint8", {}, bytes);
  Made<std::uint16_t> to(format.count());
  take(released([&] { return format.unpack(elements<std::uint8_t>(from), to.span()); }));
  return to.array();
}

nb::list stored(const TensorFormat& format, const Shared& shared) {
  nb::list fields;
  for (StoredField& one : take(format.store(shared.words))) {
    const auto bytes = std::make_shared<std::vector<std::byte>>(std::move(one.bytes));
    fields.append(nb::make_tuple(one.name, one.type, one.dims, byte_array(*bytes, bytes)));
  }
  return fields;
}

Shared restored(const TensorFormat& format, const nb::list& given) {
  std::vector<StoredField> fields;
  for (nb::handle one : given) {
    const auto parts = nb::cast<nb::tuple>(one);
    const Array bytes = borrow("uint8", {}, parts[3]);
    fields.push_back({nb::cast<std::string>(parts[0]),
                      nb::cast<std::string>(parts[1]),
                      nb::cast<std::vector<std::int64_t>>(parts[2]),
                      {bytes.bytes.begin(), bytes.bytes.end()}});
  }
  return {take(format.restore(fields))};
}

nb::dict losses(const TensorFormat& format, nb::handle values, const Shared& shared, nb::handle quantized) {
  const Array before = borrow("float32", {}, values), after = borrow("float32", {}, quantized);
  const Losses found = take(
      released([&] { return format.losses(elements<float>(before), shared.words, elements<float>(after)); }));
  nb::dict facts;
  facts["saturated"] = found.saturated;
  facts["flushed"] = found.flushed;
  facts["not_a_number"] = found.not_a_number;
  facts["lost"] = found.lost;
  facts["sqnr"] = found.sqnr;
  facts["signal_to_noise"] = found.sqnr;  // the key of earlier versions
  facts["mean_squared_error"] = found.mean_squared_error;
  facts["largest_error"] = found.largest_error;
  return facts;
}

void add_info(nb::module_& module) {
  nb::class_<FormatParameter>(module, "FormatParameter")
      .def_ro("name", &FormatParameter::name)
      .def_ro("preset", &FormatParameter::preset)
      .def_ro("doc", &FormatParameter::doc)
      .def_ro("low", &FormatParameter::low)
      .def_ro("high", &FormatParameter::high)
      .def_ro("choices", &FormatParameter::choices)
      .def("__repr__", [](const FormatParameter& one) { return shown(one.name + ": " + one.doc); });
  nb::class_<FormatInfo>(module, "FormatInfo")
      .def_ro("name", &FormatInfo::name)
      .def_ro("family", &FormatInfo::family)
      .def_ro("summary", &FormatInfo::summary)
      .def_ro("parameters", &FormatInfo::parameters)
      .def_ro("bits", &FormatInfo::bits)
      .def_ro("bits_per_value", &FormatInfo::bits_per_value)
      .def_ro("lowest", &FormatInfo::lowest)
      .def_ro("largest", &FormatInfo::largest)
      .def_ro("smallest", &FormatInfo::smallest)
      .def_ro("zero", &FormatInfo::zero)
      .def_ro("negative_zero", &FormatInfo::negative_zero)
      .def_ro("infinity", &FormatInfo::infinity)
      .def_ro("nan", &FormatInfo::nan)
      .def_ro("layout", &FormatInfo::layout)
      .def_ro("block_size", &FormatInfo::block_size)
      .def_prop_ro("granularity", [](const FormatInfo& one) { return std::string(name_of(one.granularity)); })
      .def("__repr__", [](const FormatInfo& one) {
        return shown("FormatInfo " + one.name + " (" + one.family + "): " + one.summary);
      });
}

}  // namespace

void add_formats(nb::module_& module) {
  add_info(module);
  nb::class_<Shared>(module, "Shared");
  nb::class_<TensorFormat>(module, "TensorFormat")
      .def_prop_ro("group_grid", &TensorFormat::group_grid)
      .def_prop_ro("group_shape", &TensorFormat::group_shape)
      .def_prop_ro("bits_per_value", &TensorFormat::bits_per_value)
      .def_prop_ro("packed_dims", &TensorFormat::packed_dims)
      .def("choose", choose)
      .def("choose_from_range", [](const TensorFormat& format, float low,
                                   float high) { return Shared{take(format.choose_from_range(low, high))}; })
      .def("quantize", quantized)
      .def("encode", encoded)
      .def("decode", decoded)
      .def("pack", packed)
      .def("unpack", unpacked)
      .def("store", stored)
      .def("restore", restored)
      .def("losses", losses);
  module.def("list_formats", [] { return take(list_formats()); });
  module.def("describe_format", [](const std::string& name, const Names& parameters) {
    return take(describe_format(name, ParameterValues(parameters.begin(), parameters.end())));
  });
  module.def("tensor_format", made, nb::arg("name"), nb::arg("dims"), nb::arg("parameters"),
             nb::arg("granularity").none(), nb::arg("axis").none(), nb::arg("block_size").none(),
             nb::arg("block"), nb::arg("rounding"), nb::arg("seed"), nb::arg("allow_nonfinite"),
             nb::arg("threads"));
}

}  // namespace anybit::python
