// The parts of a network of neurons, each as a module.
#pragma once

#include <string>

#include "network.hpp"
#include "reachable.hpp"
#include "text.hpp"

namespace anybit::verilog {

// A layer as module `name`, from bus x to bus y; with `registered`, y changes at the clock.
void write_layer(Text& out, const std::string& name, const NeuronLayer& layer, const Bus& input,
                 const std::vector<std::vector<bool>>& reachable, bool registered);

// Sums of `group` unsigned elements each: a tree of 6:3 compressors (`name`_63) and full adders, then one
// addition.
void write_sums(Text& out, const std::string& name, const Bus& input, std::int64_t group, const Bus& output,
                bool registered);

// The index of the largest element, the first of equals.
void write_argmax(Text& out, const std::string& name, const Bus& input, bool registered);
int index_bits(std::int64_t count);

// The head of a module from bus x to bus y, and its end.
void open_module(Text& out, const std::string& name, std::int64_t inputs, std::int64_t outputs,
                 bool registered);
void close_module(Text& out, bool registered);

}  // namespace anybit::verilog
