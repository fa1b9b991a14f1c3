#include "quantized_file.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "anybit/npy.hpp"

namespace anybit::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;  // of the file format; raised with every incompatible change

// NumPy has no bfloat16: its bits are stored as uint16, which no other field uses.
std::string file_type(const std::string& type) { return type == "bfloat16" ? "uint16" : type; }
std::string field_type(const std::string& type) { return type == "uint16" ? "bfloat16" : type; }

Json meta_of(const QuantizedTensor& tensor) {
  const TensorFormatOptions& options = tensor.options;
  Json parameters = Json::object();
  for (const auto& [name, value] : tensor.format.parameters()) {
    parameters[name] = std::visit([](const auto& v) { return Json(v); }, value);
  }
  Json meta{{"anybit", kVersion},
            {"format", tensor.format.name()},
            {"parameters", parameters},
            {"dims", tensor.format.dims()},
            {"granularity", name_of(tensor.format.granularity())},
            {"pack_axis", tensor.format.pack_axis()},
            {"rounding", name_of(options.rounding)}};
  if (options.axis) meta["axis"] = *options.axis;
  if (options.block_size) meta["block_size"] = *options.block_size;
  if (!options.block.empty()) meta["block"] = options.block;
  return meta;
}

Error damaged(std::string what) {
  return {Code::malformed, "not written by 'anybit convert': " + std::move(what), {}, {}};
}

template <class T>
std::optional<T> maybe(const Json& meta, const char* name) {
  const auto found = meta.find(name);
  if (found == meta.end()) return std::nullopt;
  if constexpr (std::is_same_v<T, std::string>) {
    if (found->is_string()) return found->template get<std::string>();
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    if (found->is_number_integer()) return found->template get<std::int64_t>();
  } else {
    T list;
    if (!found->is_array()) return std::nullopt;
    for (const Json& one : *found) {
      if (!one.is_number_integer()) return std::nullopt;
      list.push_back(one.template get<std::int64_t>());
    }
    return list;
  }
  return std::nullopt;
}

ParameterValues parameters_in(const Json& meta) {
  ParameterValues values;
  const auto found = meta.find("parameters");
  if (found == meta.end() || !found->is_object()) return values;
  for (const auto& [name, value] : found->items()) {
    if (value.is_boolean()) values[name] = value.get<bool>();
    if (value.is_number_integer()) values[name] = value.get<std::int64_t>();
    if (value.is_number_float()) values[name] = value.get<double>();
    if (value.is_string()) values[name] = value.get<std::string>();
  }
  return values;
}

Result<void> check_version(const Json& meta) {
  const auto version = maybe<std::int64_t>(meta, "anybit");
  if (version == kVersion) return {};
  if (!version || *version < kVersion) return damaged("its 'meta' has no version, \"anybit\": 1");
  return Error{
      Code::unsupported,
      fmt::format("written by a newer anybit: version {} of such files, and this program reads version {}",
                  *version, kVersion),
      {},
      "a newer anybit"};
}

Result<QuantizedTensor> tensor_of(const Json& meta, int threads) {
  if (auto version = check_version(meta); !version.ok()) return std::move(version).error();
  using Sizes = std::vector<std::int64_t>;
  const auto format = maybe<std::string>(meta, "format"),
             granularity = maybe<std::string>(meta, "granularity");
  const auto dims = maybe<Sizes>(meta, "dims");
  if (!format || !granularity || !dims) {
    return damaged("its 'meta' lacks format, granularity or dims");
  }
  TensorFormatOptions options{.parameters = parameters_in(meta),
                              .axis = maybe<std::int64_t>(meta, "axis"),
                              .block_size = maybe<std::int64_t>(meta, "block_size"),
                              .block = maybe<Sizes>(meta, "block").value_or(Sizes{}),
                              .threads = threads};
  auto grain = granularity_named(*granularity);
  if (!grain.ok()) return std::move(grain).error();
  options.granularity = *grain;
  auto made = TensorFormat::make(*format, *dims, options);
  if (!made.ok()) return std::move(made).error();
  return QuantizedTensor{*std::move(made), std::move(options), {}, {}};
}

Result<QuantizedTensor> from_arrays(std::map<std::string, Array> arrays, int threads) {
  const auto codes = arrays.find("codes"), meta = arrays.find("meta");
  if (codes == arrays.end() || meta == arrays.end() || codes->second.type != "uint8" ||
      meta->second.type != "text") {
    return damaged("it lacks the bytes 'codes' or the text 'meta'");
  }
  const Json json = Json::parse(meta->second.text(), nullptr, false);
  if (!json.is_object()) return damaged("its 'meta' is not JSON");
  auto tensor = tensor_of(json, threads);
  if (!tensor.ok()) return std::move(tensor).error();
  if (static_cast<std::int64_t>(codes->second.bytes.size()) != tensor->format.packed_bytes()) {
    return damaged(fmt::format("it has {} packed bytes, but its dimensions need {}",
                               codes->second.bytes.size(), tensor->format.packed_bytes()));
  }
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(codes->second.bytes.data());
  tensor->packed.assign(bytes, bytes + codes->second.bytes.size());
  arrays.erase("codes");
  arrays.erase("meta");
  std::vector<StoredField> fields;
  for (const auto& [name, array] : arrays) {
    fields.push_back({name, field_type(array.type), array.dims, {array.bytes.begin(), array.bytes.end()}});
    if (auto intact = array.intact(); !intact.ok()) return std::move(intact).error();
  }
  auto shared = tensor->format.restore(fields);
  if (!shared.ok()) return std::move(shared).error();
  tensor->shared = *std::move(shared);
  return tensor;
}

}  // namespace

Result<std::int64_t> stored_bytes(const QuantizedTensor& tensor) {
  const auto fields = tensor.format.store(tensor.shared);
  if (!fields.ok()) return fields.error();
  std::size_t bytes = tensor.packed.size();
  for (const StoredField& field : *fields) bytes += field.bytes.size();
  return static_cast<std::int64_t>(bytes);
}

Result<void> write_quantized(const std::string& path, const QuantizedTensor& tensor) {
  auto fields = tensor.format.store(tensor.shared);
  if (!fields.ok()) return std::move(fields).error();
  std::map<std::string, Array> arrays;
  const auto add = [&](const std::string& name, Result<Array> array) -> Result<void> {
    if (!array.ok()) return std::move(array).error();
    arrays.emplace(name, *std::move(array));
    return {};
  };
  const auto bytes = std::as_bytes(std::span(tensor.packed));
  auto done =
      add("codes", Array::from_bytes("uint8", {bytes.begin(), bytes.end()}, tensor.format.packed_dims()));
  for (StoredField& field : *fields) {
    if (done.ok()) {
      done = add(field.name,
                 Array::from_bytes(file_type(field.type), std::move(field.bytes), std::move(field.dims)));
    }
  }
  if (done.ok()) done = add("meta", Array::from_text(meta_of(tensor).dump()));
  return done.ok() ? write_npz(path, arrays) : done;
}

Result<QuantizedTensor> read_quantized(const std::string& path, int threads) {
  auto arrays = read_npz(path);
  if (!arrays.ok()) return std::move(arrays).error();
  auto tensor = from_arrays(*std::move(arrays), threads);
  if (tensor.ok()) return tensor;
  Error error = std::move(tensor).error();
  // Wrong content is malformed data, not a usage error.
  if (error.code == Code::invalid_argument || error.code == Code::not_found) error.code = Code::malformed;
  return std::move(error).within(path);
}

}  // namespace anybit::cli
