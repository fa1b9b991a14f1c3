// Stops exceptions at the library's boundary. Only out-of-memory exceptions can occur; they become an error,
// whose text needs no allocation.
#pragma once

#include <new>
#include <stdexcept>

#include "anybit/result.hpp"

namespace anybit {

template <class Body>
auto guarded(Body body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return Error{Code::out_of_memory, "out of memory", {}, {}};
  } catch (const std::length_error&) {  // a container larger than possible
    return Error{Code::out_of_memory, "out of memory", {}, {}};
  }
}

}  // namespace anybit
