// Results of the library become values or exceptions of Python.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <type_traits>
#include <utility>

#include "anybit/result.hpp"

namespace anybit::python {

namespace nb = nanobind;

// Raises the class that anybit.errors has for the code. The GIL must be held.
[[noreturn]] void raise(const Error& error);

template <class T>
T take(Result<T> result) {
  if (!result.ok()) raise(result.error());
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

// The same; an error of a file names it, as on the command line.
template <class T>
T take_of_file(Result<T> result, const std::string& path) {
  if (result.ok()) return take(std::move(result));
  Error error = std::move(result).error();
  if (error.text().find(path) != std::string::npos) raise(error);
  raise(std::move(error).within(path));
}

// Calls `work` while other threads of Python run.
template <class Work>
auto released(Work&& work) {
  nb::gil_scoped_release release;
  return std::forward<Work>(work)();
}

}  // namespace anybit::python
