// Whether an operator takes its inputs, before the model runs. The one checker of an operator is the
// beginning of its `run`: what it refuses before it asks for memory follows from types, shapes, attributes
// and constants. Here that beginning is run by itself, on inputs whose elements are not known.
#pragma once

#include <span>

#include "ops/array.hpp"
#include "ops/op.hpp"

namespace anybit::ops {

class Frame;

// That the inputs which the operator must have are there.
Result<void> check_inputs(const Descriptor& descriptor, const graph::Node& node);

// The version of the operator that an opset has. An error if it has none, or if the node lacks inputs or
// attributes that it must have: such a node cannot run, whatever its inputs are.
Result<std::int64_t> checked_version(const Descriptor& descriptor, const graph::Node& node,
                                     std::int64_t opset);

// The same of their values while it runs: what a node names may be an empty optional.
Result<void> expect_inputs(const Frame& frame, std::initializer_list<std::size_t> inputs);

// What `run` would refuse whatever the elements of its inputs are. Nothing is refused while the type or shape
// of an input is not known, or one is no tensor. `contents`: of inputs that are constants, null for others;
// if there are none, those of small constants are looked up.
Result<void> check(const Descriptor& descriptor, const Call& call,
                   std::span<const Array* const> contents = {});

// Whether nothing is to be computed: the elements of inputs are not there. An operator that reads them before
// it asks for memory asks this where it has checked all that does not depend on them.
bool only_checks(const Frame& frame);
// Whether an array has elements: those of one that is only checked are not known.
bool has_elements(const Array& array);
// What functions return that need elements which are not known; `check` takes it for consent.
Error not_known();

}  // namespace anybit::ops
