// The table of model file formats. A row recognizes, reads and writes one format; the rows come from the
// files in this folder.
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

// How certain it is that bytes are in a format.
enum class Claim : std::uint8_t {
  no,
  maybe,  // the first bytes are possible
  sure,   // the signature matches
};

struct Descriptor {
  std::string_view name;       // "ONNX"
  std::string_view extension;  // ".onnx"
  Claim (*probe)(std::span<const std::byte> bytes);
  // Returns a verified model. `folder`: of external data; empty: not allowed.
  Result<graph::Model> (*read)(const Bytes& bytes, const std::string& folder, const LoadOptions& options);
  // Writes the file completely or not at all. Null: the format is read-only.
  Result<void> (*save)(const graph::Model& model, const std::string& path, const SaveOptions& options);
};

bool before(const Descriptor& a, const Descriptor& b);
std::span<const Descriptor* const> table();

}  // namespace anybit::io
