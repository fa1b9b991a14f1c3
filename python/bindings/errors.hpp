// Converts results of the library to Python values or exceptions.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <type_traits>
#include <utility>

#include "anybit/result.hpp"

namespace anybit::python {

namespace nb = nanobind;

// Raises the exception class of the error code (anybit.errors). Requires the GIL.
[[noreturn]] void raise(const Error& error);

template <class T>
T take(Result<T> result) {
  if (!result.ok()) raise(result.error());
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

// The same; an error of a file names the file, as on the command line.
template <class T>
T take_of_file(Result<T> result, const std::string& path) {
  if (result.ok()) return take(std::move(result));
  Error error = std::move(result).error();
  if (error.text().find(path) != std::string::npos) raise(error);
  raise(std::move(error).within(path));
}

// Calls `work` without the GIL.
template <class Work>
auto released(Work&& work) {
  nb::gil_scoped_release release;
  return std::forward<Work>(work)();
}

}  // namespace anybit::python
