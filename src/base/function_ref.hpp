// A non-owning reference to a callable, for the duration of a call: no copy, no heap allocation.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace anybit {

template <class... Arguments>
class FunctionRef {
 public:
  template <class Body>
  requires(std::is_invocable_v<Body&, Arguments...> && !std::is_same_v<Body, FunctionRef>)
      FunctionRef(const Body& body)
      : body_(std::addressof(body)), call_([](const void* of, Arguments... arguments) {
          (*static_cast<const Body*>(of))(std::forward<Arguments>(arguments)...);
        }) {}
  void operator()(Arguments... arguments) const { call_(body_, std::forward<Arguments>(arguments)...); }

 private:
  const void* body_;
  void (*call_)(const void*, Arguments...);
};

}  // namespace anybit
