// JSON objects with many members, in insertion order.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace anybit::cli {

// Adds a member that the object does not have yet, in constant time: operator[] searches all members.
inline nlohmann::ordered_json& add_member(nlohmann::ordered_json& object, const std::string& name,
                                          nlohmann::ordered_json value) {
  using Members = nlohmann::ordered_json::object_t::Container;
  auto& members = static_cast<Members&>(object.get_ref<nlohmann::ordered_json::object_t&>());
  return members.emplace_back(name, std::move(value)).second;
}

}  // namespace anybit::cli
