// The .npy format (NumPy enhancement proposal 1, versions 1 to 3) in memory.
#pragma once

#include <string>

#include "anybit/npy.hpp"
#include "base/bytes.hpp"

namespace anybit {

// Parses a complete .npy file. Shares its bytes if their order is ours, otherwise copies. `file` is stored in
// the array.
Result<Array> parse_npy(const Bytes& bytes, std::shared_ptr<const MappedFile> file = nullptr);

// The header, padded so that the data start at a multiple of 64. Errors: an unknown type, or a size that does
// not match type and dims.
Result<std::string> npy_header(const Array& array);
// The data as stored in the file: text becomes UTF-32, all else is unchanged.
Result<Bytes> npy_data(const Array& array);

}  // namespace anybit
