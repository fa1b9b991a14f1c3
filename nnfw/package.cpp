#include "package.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace anybit::nnfw {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kKnownTypes[] = {"onnx", "circle", "tflite"};
constexpr std::size_t kLongestManifest = 1 << 20;

Package failed(const std::string& path, const std::string& why) { return {{}, path + ": " + why}; }

// The first megabyte: no manifest is longer, and a longer one is not valid JSON then.
std::optional<std::string> text_of(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text(kLongestManifest, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

// The texts of a list in the manifest; empty if it is none.
std::vector<std::string> texts(const json& manifest, const char* name) {
  std::vector<std::string> found;
  const auto list = manifest.find(name);
  if (list == manifest.end() || !list->is_array()) return found;
  for (const json& one : *list) found.push_back(one.is_string() ? one.get<std::string>() : std::string());
  return found;
}

// By the manifest, otherwise by the extension.
std::string type_of(const std::vector<std::string>& types, std::size_t index, const fs::path& model) {
  std::string type = index < types.size() ? types[index] : model.extension().string();
  if (type.starts_with('.')) type.erase(0, 1);
  std::ranges::transform(type, type.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return type;
}

// A package may only name what lies in it.
bool stays_inside(const fs::path& model) {
  return model.is_relative() &&
         std::ranges::none_of(model, [](const fs::path& part) { return part == ".."; });
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& one : names) text += (text.empty() ? "" : ", ") + one;
  return text;
}

// A configuration file or several connected models would change the results.
const char* unknown_part(const json& manifest) {
  if (const auto configs = texts(manifest, "configs"); !configs.empty() && !configs[0].empty())
    return "it has a configuration file (configs), which cannot be applied";
  if (const auto edges = manifest.find("model-connect"); edges != manifest.end() && !edges->empty())
    return "it connects several models (model-connect); one model can run";
  return nullptr;
}

}  // namespace

Package read_package(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return {path, {}};
  const fs::path folder = path, file = folder / "metadata" / "MANIFEST";
  const auto text = text_of(file);
  if (!text) return failed(path, "it is a folder without metadata/MANIFEST, and so no nnpackage");
  const json manifest = json::parse(*text, nullptr, false);
  if (!manifest.is_object()) return failed(file.string(), "it is not a JSON object");
  if (const char* const part = unknown_part(manifest)) return failed(path, part);
  const auto models = texts(manifest, "models"), types = texts(manifest, "model-types");
  std::vector<std::string> known, all;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const std::string type = type_of(types, i, models[i]);
    all.push_back("'" + models[i] + "' (" + type + ")");
    if (std::ranges::find(kKnownTypes, type) != std::end(kKnownTypes)) known.push_back(models[i]);
  }
  if (known.size() != 1)
    return failed(path, "it has " + (all.empty() ? "no model" : joined(all)) +
                            "; one model of a known type (onnx, circle, tflite) would be right");
  if (!stays_inside(known[0])) return failed(path, "its model '" + known[0] + "' lies outside of it");
  return {(folder / known[0]).string(), {}};
}

}  // namespace anybit::nnfw
