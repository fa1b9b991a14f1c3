// The shifts of a layer's output channels that reduce the error of a quantized model the most, estimated
// from samples.
//
// If the layer feeds an elementwise function, such as SiLU, errors count as far as they pass it. Where many
// values lie in the flat part of the function, the mean error of these says nothing about the others: a shift
// by it would harm those that matter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "refine/channel_sums.hpp"
#include "refine/element_function.hpp"

namespace anybit::quantizing {

// By how much the quantized values of a sample are too low, per channel.
struct Measured {
  // Sums over the picked places. The weight is the squared slope of the function.
  struct Picked {
    double error = 0, square = 0, weight = 0, weighted_error = 0, weighted_square = 0;
    Picked& operator+=(const Picked& other);
  };
  std::vector<double> means;   // of the errors at all places; empty: not available
  std::vector<Picked> picked;  // empty if no function follows
  std::int64_t places = 0;     // picked places
};

// `function`: what the consumers of the layer compute; may be empty.
Measured measured(const ChannelSums& right, const ChannelSums& quantized, const ElementFunction& function);

// Estimates the shifts that minimize the squared error behind the function: the mean error, weighted by
// squared slopes. It is shrunk by the variance between samples: the full shift if all samples agree, nothing
// if there is only one.
std::vector<double> shift_of(std::span<const Measured> samples);

}  // namespace anybit::quantizing
