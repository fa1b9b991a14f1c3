// The .npy format (NumPy enhancement proposal 1, versions 1 to 3) in memory.
#pragma once

#include <string>

#include "anybit/npy.hpp"
#include "base/bytes.hpp"

namespace anybit {

// Bytes of a whole .npy file. Shares them where their order is ours, else copies. `file` goes into the array.
Result<Array> parse_npy(const Bytes& bytes, std::shared_ptr<const MappedFile> file = nullptr);

// What comes before the data, padded so that the data start at a multiple of 64. Errors: an unknown type, or
// a number of bytes that type and dims do not have.
Result<std::string> npy_header(const Array& array);
// The data as they lie in the file: text becomes UTF-32, all else is what it was.
Result<Bytes> npy_data(const Array& array);

}  // namespace anybit
