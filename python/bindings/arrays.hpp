// Arrays between Python and the library. The package's own Python turns what people have into (type, dims,
// buffer), where the type is the library's word and the buffer holds plain elements; no byte is copied here
// that need not be, in either direction.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <map>
#include <span>
#include <string>

#include "anybit/executor.hpp"

namespace anybit::python {

namespace nb = nanobind;

// Shares the memory of anything with the buffer protocol, and keeps it alive. May be dropped by any thread.
Array borrow(std::string type, std::vector<std::int64_t> dims, nb::handle buffer);

// (type, dims, buffer); (“string”, dims, list of str); a list of such for a sequence; None for nothing.
Value to_value(nb::handle given);
std::map<std::string, Value> to_values(const nb::dict& given);
// The same in the other direction, for all that one call gives. The buffers are numpy arrays of bytes, which
// belong to the receiver: what shares memory with others, or with the inputs, is copied.
nb::list to_python(const std::vector<Value>& values, const std::map<std::string, Value>& inputs);

// Bytes as a numpy array that keeps `owner` alive.
using ByteArray = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>;
ByteArray byte_array(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

}  // namespace anybit::python
