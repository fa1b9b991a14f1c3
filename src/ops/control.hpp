// What If, Loop, Scan and SequenceMap share: nodes that hold graphs.
#pragma once

#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {

// What holds for both of two values.
Value either(const Value& a, const Value& b);
// The first outputs of a body, filled up to what the node has.
Values fitted(Values values, std::size_t count);
// The value with one more axis of `count` places.
Value stacked(const Value& value, const Dim& count, std::size_t axis = 0);

// The body of a loop, inferred in two rounds: what the first iteration changes of a carried value's shape is
// unknown in the second; whatever still differs then is unknown altogether. `inputs` becomes what holds for
// every iteration.
Result<Body> settle(const Call& call, const graph::Graph& body, Values& inputs, std::size_t first_carried,
                    std::size_t carried, std::size_t first_output);

// The arrays of all iterations as output i, stacked along a new axis. `items` is emptied. With none at all,
// type and shape are as the body declares its output; sizes that it leaves open are 0.
Result<void> put_stacked(Frame& frame, std::size_t i, std::vector<Datum>& items, std::int64_t axis,
                         const graph::ValueInfo& declared);

// A graph attribute that must be there, with so many inputs and at least so many outputs.
Result<const graph::Graph*> body_of(const Frame& frame, std::string_view attribute, std::size_t inputs,
                                    std::size_t outputs);

}  // namespace anybit::ops
