// Results of the library become values or exceptions of Python.
#pragma once

#include <nanobind/nanobind.h>

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

// Calls `work` while other threads of Python run.
template <class Work>
auto released(Work&& work) {
  nb::gil_scoped_release release;
  return std::forward<Work>(work)();
}

}  // namespace anybit::python
