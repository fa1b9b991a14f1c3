#include "message.hpp"

#include <string_view>
#include <utility>

namespace anybit::nnfw {
namespace {

// Longer names first: one may be the beginning of another.
constexpr std::pair<std::string_view, std::string_view> kNames[] = {
    {"anybit_load_model_from_file or anybit_load_model_from_memory", "nnfw_load_model_from_file"},
    {"anybit_set_quantization_type or anybit_set_quantization_recipe", "nnfw_set_quantization_type"},
    {"anybit_set_input_shape", "nnfw_set_input_tensorinfo"},
    {"ANYBIT_GATHER_RANGES", "NNFW_RUN_CONFIG_DUMP_MINMAX"},
    {"ANYBIT_TRACE", "NNFW_RUN_CONFIG_TRACE"},
    {"ANYBIT_PREFER_", "NNFW_CODEGEN_PREF_"},
    {"ANYBIT_QUANTIZE_", "NNFW_QUANTIZE_TYPE_"},
    {"anybit/anybit.h", "nnfw/nnfw.h"},
    {"anybit_", "nnfw_"},
};

}  // namespace

std::string in_onerts_words(std::string message) {
  for (const auto& [ours, theirs] : kNames) {
    for (std::size_t at = 0; (at = message.find(ours, at)) != std::string::npos; at += theirs.size())
      message.replace(at, ours.size(), theirs);
  }
  return message;
}

}  // namespace anybit::nnfw
