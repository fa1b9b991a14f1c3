// The command line of onert_run, in the words of onert.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "anybit/result.hpp"

namespace anybit::cli {

struct OnertArguments {
  std::string path;  // a model, or an nnpackage folder
  std::string quantize, qpath, codegen, cpath;
  std::string load, load_raw, dump_raw;
  std::map<std::size_t, std::vector<std::int64_t>> shapes;  // by input
  int minmax_runs = 0, num_runs = 1, warmup_runs = 0;
  std::string output;  // of --help or --version: the text to print
};

// An option that anybit cannot honour is an error that names it.
Result<OnertArguments> parse_onert_arguments(int argc, char** argv);

}  // namespace anybit::cli
