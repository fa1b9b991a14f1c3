// Every C function of onert's API goes through call(): it checks the session and the state.
#pragma once

#include <exception>
#include <new>

#include "session.hpp"

struct nnfw_session {
  std::unique_ptr<anybit::nnfw::Session> inner;
};

namespace anybit::nnfw {

constexpr unsigned in(State state) { return 1U << static_cast<int>(state); }
constexpr unsigned kFirst = in(State::created);
constexpr unsigned kBefore = in(State::loaded) | in(State::replaced);  // prepare
constexpr unsigned kReady = in(State::replaced) | in(State::prepared) | in(State::ran);
constexpr unsigned kLoaded = in(State::loaded) | kReady;
constexpr unsigned kRunning = in(State::running);
constexpr unsigned kAlways = kFirst | kLoaded | kRunning;

const char* name_of(State state);

// No exception leaves the library; only a lack of memory or of threads can throw.
template <class Body>
NNFW_STATUS call(nnfw_session* session, unsigned states, const Body& body) noexcept {
  if (!session) return NNFW_STATUS_UNEXPECTED_NULL;
  Session& inner = *session->inner;
  try {
    if ((states & in(inner.state())) == 0)
      return inner.fail(NNFW_STATUS_INVALID_STATE, std::string("the call is not allowed: the session is ") +
                                                       name_of(inner.state()) +
                                                       "; see the table of states in nnfw/nnfw.h");
    return body(inner);
  } catch (const std::bad_alloc&) {
    return NNFW_STATUS_OUT_OF_MEMORY;
  } catch (const std::exception&) {
    return NNFW_STATUS_ERROR;
  }
}

// The same for a call with a pointer that must not be NULL.
template <class Body>
NNFW_STATUS call_with(nnfw_session* session, unsigned states, const void* pointer, const char* name,
                      const Body& body) noexcept {
  return call(session, states, [&](Session& inner) {
    return pointer ? body(inner) : inner.fail(NNFW_STATUS_UNEXPECTED_NULL, std::string(name) + " is NULL");
  });
}

}  // namespace anybit::nnfw
