// TRY(expression): the value of a Result, or returns its error from the enclosing function.
#pragma once

#include "anybit/result.hpp"

#define TRY(...)                                                  \
  __extension__({                                                 \
    auto&& try_result_ = (__VA_ARGS__);                           \
    if (!try_result_.ok()) return std::move(try_result_).error(); \
    std::move(try_result_).value();                               \
  })
