// The edge of the library: exceptions end here. Only running out of memory can throw below; it becomes an
// error, whose text is short enough to need none.
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
  } catch (const std::length_error&) {  // a container asked for more than can exist
    return Error{Code::out_of_memory, "out of memory", {}, {}};
  }
}

}  // namespace anybit
