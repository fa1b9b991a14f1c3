#include "reachable.hpp"

#include <map>

namespace anybit::verilog {
namespace {

std::size_t field(std::size_t address, int input, int bits) {
  return address >> (input * bits) & ((std::size_t{1} << bits) - 1);
}

// A value of the bus as an input of a neuron: its lowest bits, after sign extension.
std::size_t as_input(std::size_t value, const Bus& bus, int bits) {
  std::size_t wide = value;
  if (bus.is_signed && (value >> (bus.bits - 1) & 1) != 0) wide |= ~std::size_t{0} << bus.bits;
  return wide & ((std::size_t{1} << bits) - 1);
}

std::int64_t source_of(const NeuronLayer& layer, std::int64_t neuron, int input) {
  return layer.connections[static_cast<std::size_t>(neuron * layer.fan_in + input)];
}

}  // namespace

Reachable::Reachable(const Bus& input)
    : bus_(input),
      values_(static_cast<std::size_t>(input.count), std::vector<bool>(std::size_t{1} << input.bits, true)) {}

std::vector<bool> Reachable::independent(const NeuronLayer& layer, std::int64_t neuron) const {
  std::vector<bool> addresses(std::size_t{1} << layer.address_bits(), true);
  for (int i = 0; i < layer.fan_in; ++i) {
    const std::int64_t from = source_of(layer, neuron, i);
    std::vector<bool> possible(std::size_t{1} << layer.input_bits);
    if (from < 0) {
      possible[0] = true;
    } else {
      const auto& all = values_[static_cast<std::size_t>(from)];
      for (std::size_t v = 0; v < all.size(); ++v) {
        if (all[v]) possible[as_input(v, bus_, layer.input_bits)] = true;
      }
    }
    for (std::size_t a = 0; a < addresses.size(); ++a) {
      if (!possible[field(a, i, layer.input_bits)]) addresses[a] = false;
      for (int other = 0; other < i; ++other) {
        if (source_of(layer, neuron, other) == from &&
            field(a, i, layer.input_bits) != field(a, other, layer.input_bits))
          addresses[a] = false;
      }
    }
  }
  return addresses;
}

// Inputs that are results of one encoder input occur together only as some value of it makes them.
void Reachable::exclude_pairs(const NeuronLayer& layer, std::int64_t neuron,
                              std::vector<bool>& addresses) const {
  std::map<std::int64_t, std::vector<int>> same;  // inputs of this neuron by the element that they come from
  for (int i = 0; i < layer.fan_in; ++i) {
    const std::int64_t from = source_of(layer, neuron, i);
    if (from < 0) continue;
    const std::int64_t source = encoder_->connections[static_cast<std::size_t>(from)];
    if (source >= 0) same[source].push_back(i);
  }
  for (const auto& [source, inputs] : same) {
    if (inputs.size() < 2) continue;
    const auto& values = encoder_inputs_[static_cast<std::size_t>(source)];
    std::vector<bool> seen(addresses.size());  // by the fields of these inputs
    std::size_t mask = 0;
    for (const int i : inputs) mask |= ((std::size_t{1} << layer.input_bits) - 1) << (i * layer.input_bits);
    for (std::size_t v = 0; v < values.size(); ++v) {
      if (!values[v]) continue;
      std::size_t address = 0;
      for (const int i : inputs) {
        const std::int64_t from = source_of(layer, neuron, i);
        const auto& results = encoder_->results[static_cast<std::size_t>(from / encoder_->repeats)];
        const auto result =
            static_cast<std::size_t>(results[as_input(v, encoder_input_, encoder_->input_bits)]);
        address |= as_input(result, bus_, layer.input_bits) << (i * layer.input_bits);
      }
      seen[address] = true;
    }
    for (std::size_t a = 0; a < addresses.size(); ++a) addresses[a] = addresses[a] && seen[a & mask];
  }
}

std::vector<std::vector<bool>> Reachable::next(const NeuronLayer& layer) {
  std::vector<std::vector<bool>> all, results;
  for (std::int64_t n = 0; n < layer.neurons(); ++n) {
    std::vector<bool> addresses = independent(layer, n);
    if (encoder_) exclude_pairs(layer, n, addresses);
    std::vector<bool> values(std::size_t{1} << layer.output_bits);
    const auto& table = layer.results[static_cast<std::size_t>(n / layer.repeats)];
    for (std::size_t a = 0; a < addresses.size(); ++a) {
      if (addresses[a]) values[static_cast<std::size_t>(table[a])] = true;
    }
    all.push_back(std::move(addresses));
    results.push_back(std::move(values));
  }
  encoder_ = layer.fan_in == 1 ? &layer : nullptr;
  if (encoder_) {
    encoder_inputs_ = values_;
    encoder_input_ = bus_;
  }
  bus_ = {layer.neurons(), layer.output_bits, layer.is_signed};
  values_ = std::move(results);
  return all;
}

}  // namespace anybit::verilog
