// Typed access to the attributes of a node. An attribute of another kind than requested counts as absent.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/model.hpp"

namespace anybit::ops {

struct Attributes {
  const graph::Node& node;
  std::int64_t version = 1;  // of the operator: the newest in the model's opset

  explicit Attributes(const graph::Node& of) : node(of) {}
  virtual ~Attributes() = default;
  // Resolves references to attributes of an enclosing function.
  virtual const graph::Attribute* find(std::string_view name) const = 0;

  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  std::optional<std::int64_t> integer(std::string_view name) const;
  bool flag(std::string_view name, bool otherwise = false) const { return integer(name, otherwise) != 0; }
  double real(std::string_view name, double otherwise) const;
  std::string_view text(std::string_view name, std::string_view otherwise) const;
  std::optional<std::vector<std::int64_t>> integers(std::string_view name) const;
  std::optional<std::vector<double>> reals(std::string_view name) const;
  // The same without a copy.
  std::optional<std::span<const std::int64_t>> ints(std::string_view name) const;
  std::optional<std::span<const float>> floats(std::string_view name) const;
  std::optional<std::span<const std::string>> texts(std::string_view name) const;
  const graph::Tensor* tensor(std::string_view name) const;
  const graph::Graph* graph(std::string_view name) const;
};

}  // namespace anybit::ops
