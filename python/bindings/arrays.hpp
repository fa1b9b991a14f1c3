// Converts arrays between Python and the library. The Python package passes (type, dims, buffer), where the
// type is a name of the library and the buffer holds plain elements. Copies are avoided in both directions.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <map>
#include <span>
#include <string>

#include "anybit/executor.hpp"

namespace anybit::python {

namespace nb = nanobind;

// Shares the memory of an object with the buffer protocol and keeps it alive. Any thread may release it.
Array borrow(std::string type, std::vector<std::int64_t> dims, nb::handle buffer);

// (type, dims, buffer); (“string”, dims, list of str); a list of them for a sequence; None for an empty
// optional.
Value to_value(nb::handle given);
std::map<std::string, Value> to_values(const nb::dict& given);
// The reverse, for all results of one call. The buffers are numpy arrays of bytes that the caller owns:
// results that share memory with each other or with the inputs are copied.
nb::list to_python(const std::vector<Value>& values, const std::map<std::string, Value>& inputs);

// Bytes as a numpy array that keeps `owner` alive.
using ByteArray = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>;
ByteArray byte_array(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

}  // namespace anybit::python
