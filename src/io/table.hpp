// Kinds of model files. A row says how one is known, read and written; the table is made from the files
// beside this.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "anybit/model.hpp"
#include "anybit/result.hpp"
#include "base/bytes.hpp"
#include "graph/model.hpp"

namespace anybit::io {

// How sure it is that bytes are a file of a kind.
enum class Claim : std::uint8_t {
  no,
  maybe,  // they may begin so
  sure,   // they have its signature
};

struct Descriptor {
  std::string_view name;       // "ONNX"
  std::string_view extension;  // ".onnx"
  Claim (*probe)(std::span<const std::byte> bytes);
  // Verified. `folder`: where data beside the file may lie; empty: there may be none.
  Result<graph::Model> (*read)(const Bytes& bytes, const std::string& folder, const LoadOptions& options);
  // The file appears whole or not at all. Null: such files are read only.
  Result<void> (*save)(const graph::Model& model, const std::string& path, const SaveOptions& options);
};

bool before(const Descriptor& a, const Descriptor& b);
std::span<const Descriptor* const> table();

}  // namespace anybit::io
