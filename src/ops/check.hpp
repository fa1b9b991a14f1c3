// Checks an operator's inputs without running it. The checker is the prologue of the operator's own `run`, so
// there is only one: everything that `run` rejects before it allocates memory follows from types, shapes,
// attributes and constants. The check runs this prologue on inputs whose elements are unknown.
#pragma once

#include <span>

#include "ops/array.hpp"
#include "ops/op.hpp"

namespace anybit::ops {

class Frame;

// Checks that the required inputs are present.
Result<void> check_inputs(const Descriptor& descriptor, const graph::Node& node);

// The operator's version in an opset. An error if the opset has none, or if the node lacks required inputs or
// attributes: such a node cannot run, whatever its inputs are.
Result<std::int64_t> checked_version(const Descriptor& descriptor, const graph::Node& node,
                                     std::int64_t opset);

// The same for run-time values: a named input may be an empty optional.
Result<void> expect_inputs(const Frame& frame, std::initializer_list<std::size_t> inputs);

// An error if `run` rejects these inputs whatever their elements are. No error while the type or shape of an
// input is unknown, or if an input is not a tensor. `contents`: the constant inputs, null for others; if
// empty, small constants are looked up.
Result<void> check(const Descriptor& descriptor, const Call& call,
                   std::span<const Array* const> contents = {});

// Whether this is a check only, without elements. An operator that reads elements before it allocates memory
// asks this after all checks that do not depend on them.
bool only_checks(const Frame& frame);
// Whether the elements of an array are available; in a check they may be unknown.
bool has_elements(const Array& array);
// The error of functions that need unknown elements; `check` treats it as success.
Error not_known();

}  // namespace anybit::ops
