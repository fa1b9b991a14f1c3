// Times loading and saving for bench/bench_onnx_io.py, which requests one measurement at a time to alternate
// between runtimes. Reads lines "load|save|both<TAB>LIST<TAB>FOLDER", where LIST is a file with one model
// path per line; answers each with seconds. Models are saved as FOLDER/0.onnx, FOLDER/1.onnx, …
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "anybit/model.hpp"

namespace {

using anybit::Model;

template <class T>
T must(anybit::Result<T> result) {
  if (result.ok()) return std::move(result).value();
  fmt::print(stderr, "bench_onnx_io: {}\n", result.error().text());
  std::exit(1);
}

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::string target(const std::string& folder, std::size_t index) {
  return fmt::format("{}/{}.onnx", folder, index);
}

template <class Work>
double seconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double measure(const std::string& what, const std::vector<std::string>& paths, const std::string& folder) {
  if (what == "load") {
    return seconds([&] {
      for (const std::string& path : paths) must(Model::load(path));
    });
  }
  if (what == "save") {
    std::vector<Model> models;
    for (const std::string& path : paths) models.push_back(must(Model::load(path)));
    return seconds([&] {
      for (std::size_t i = 0; i < models.size(); ++i) must(models[i].save(target(folder, i)));
    });
  }
  return seconds([&] {
    for (std::size_t i = 0; i < paths.size(); ++i) {
      must(must(Model::load(paths[i])).save(target(folder, i)));
    }
  });
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const std::size_t first = line.find('\t'), second = line.rfind('\t');
    if (first == second) return 2;
    const auto paths = lines_of(line.substr(first + 1, second - first - 1));
    fmt::print("{:.9f}\n", measure(line.substr(0, first), paths, line.substr(second + 1)));
    std::fflush(stdout);
  }
  return 0;
}
