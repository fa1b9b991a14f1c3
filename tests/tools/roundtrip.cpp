// Loads and saves models for the Python tests: reads lines "IN<TAB>OUT" and prints a line for each that
// fails.
//   roundtrip [--external=keep|always|never] [--threshold=BYTES] [--allow-linked-data] < LINES
#include <fmt/format.h>

#include <charconv>
#include <iostream>
#include <string>
#include <string_view>

#include "base/try.hpp"
#include "io/model_file.hpp"
#include "io/onnx/save.hpp"

namespace {

using anybit::Result;
using External = anybit::SaveOptions::External;

struct Options {
  anybit::LoadOptions load;
  anybit::SaveOptions save;
};

bool set_option(std::string_view argument, Options& options) {
  constexpr std::string_view kThreshold = "--threshold=";
  if (argument == "--external=keep") {
    options.save.external = External::keep;
  } else if (argument == "--external=always") {
    options.save.external = External::always;
  } else if (argument == "--external=never") {
    options.save.external = External::never;
  } else if (argument == "--allow-linked-data") {
    options.load.allow_linked_data = true;
  } else if (argument.starts_with(kThreshold)) {
    const char* end = argument.data() + argument.size();
    const auto read =
        std::from_chars(argument.data() + kThreshold.size(), end, options.save.external_threshold);
    return read.ec == std::errc() && read.ptr == end;
  } else {
    return false;
  }
  return true;
}

Result<void> roundtrip(const std::string& from, const std::string& to, const Options& options) {
  const anybit::graph::Model model = TRY(anybit::io::load(from, options.load));
  return anybit::onnx::save(model, to, options.save);
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    if (!set_option(arguments[i], options)) {
      fmt::print(stderr, "roundtrip: what is '{}'?\n", arguments[i]);
      return 2;
    }
  }
  int failed = 0;
  for (std::string line; std::getline(std::cin, line);) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) {
      fmt::print(stderr, "roundtrip: no tab in '{}'\n", line);
      return 2;
    }
    const auto done = roundtrip(line.substr(0, tab), line.substr(tab + 1), options);
    if (done.ok()) continue;
    fmt::print("{}: {}: {}\n", line.substr(0, tab), anybit::name_of(done.error().code), done.error().text());
    failed = 1;
  }
  return failed;
}
