// Shared by If, Loop, Scan and SequenceMap: operators with subgraphs.
#pragma once

#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {

// The facts that hold for both values.
Value either(const Value& a, const Value& b);
// The first outputs of a body, filled up with unknown values to the node's number of outputs.
Values fitted(Values values, std::size_t count);
// The value with an additional axis of size `count`.
Value stacked(const Value& value, const Dim& count, std::size_t axis = 0);

// Infers a loop body in two rounds. Parts of a carried value's shape that the first iteration changes are
// unknown in the second round; if the value still differs then, it is unknown altogether. On return, `inputs`
// holds for every iteration.
Result<Body> settle(const Call& call, const graph::Graph& body, Values& inputs, std::size_t first_carried,
                    std::size_t carried, std::size_t first_output);

// Stacks the arrays of all iterations along a new axis, as output i, and empties `items`. Without iterations,
// type and shape come from the body's declaration; sizes that it leaves open are 0.
Result<void> put_stacked(Frame& frame, std::size_t i, std::vector<Datum>& items, std::int64_t axis,
                         const graph::ValueInfo& declared);

// A required graph attribute with `inputs` inputs and at least `outputs` outputs.
Result<const graph::Graph*> body_of(const Frame& frame, std::string_view attribute, std::size_t inputs,
                                    std::size_t outputs);

}  // namespace anybit::ops
