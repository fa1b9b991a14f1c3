#include "shared_object.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <stdexcept>
#include <string_view>

#include "../c-gen/generate.hpp"
#include "compiler.hpp"
#include "entries.hpp"

namespace anybit::sogen {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSeconds = 600;
const std::string kName = "model";  // the name of the compiled C code

// A temporary folder for the sources, removed at the end.
class Workshop {
 public:
  explicit Workshop(const fs::path& beside) {
    // mkdtemp replaces the six X.
    std::string path = (beside / "so-gen-").string() + std::string(6, 'X');
    if (!mkdtemp(path.data()))
      throw std::runtime_error(fmt::format("cannot create a temporary folder: {}", std::strerror(errno)));
    path_ = path;
  }
  ~Workshop() {
    try {
      std::error_code ignored;
      fs::remove_all(path_, ignored);
    } catch (const std::bad_alloc&) {
      // Removed with its folder.
    }
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// The setting `time-limit`, in seconds; other settings are rejected.
std::chrono::seconds time_limit(const anybit_codegen_options& options) {
  std::int64_t seconds = kSeconds;
  for (std::size_t i = 0; i < options.setting_count; ++i) {
    const std::string_view name = options.setting_names[i], text = options.setting_texts[i];
    if (name != "time-limit")
      throw std::runtime_error(fmt::format("so-gen has no setting '{}', only 'time-limit'", name));
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (failed != std::errc() || end != text.data() + text.size() || seconds < 1)
      throw std::runtime_error(fmt::format("time-limit is '{}', not a number of seconds", text));
  }
  return std::chrono::seconds(seconds);
}

// Native, within the limit of ANYBIT_CPU.
std::vector<std::string> fastest() {
  const char* cap = std::getenv("ANYBIT_CPU");
  std::vector<std::string> all{"-O3", "-march=native"};
  if (cap && cap == std::string_view("sse4")) all.emplace_back("-mno-avx");
  if (cap && cap == std::string_view("avx2")) all.emplace_back("-mno-avx512f");
  return all;
}

std::vector<std::string> flags(anybit_preference preference) {
  switch (preference) {
    case ANYBIT_PREFER_PERFORMANCE:
      return fastest();
    case ANYBIT_PREFER_MEMORY:
      return {"-Os"};
    case ANYBIT_PREFER_COMPILE_TIME:
      return {"-O1"};
    case ANYBIT_PREFER_DEFAULT:
      break;
  }
  return {"-O2"};
}

void generate_c(const anybit_view& view, const anybit_codegen_options& options, const fs::path& path) {
  const char *names[] = {"name"}, *texts[] = {kName.c_str()};
  const anybit_codegen_options with{options.preference, 1, names, texts};
  std::string said;
  anybit_text into{&said, [](void* target, const char* bytes, size_t count) {
                     static_cast<std::string*>(target)->append(bytes, count);
                   }};
  if (cgen::generate(&view, &with, path.c_str(), &into) != 0) throw std::runtime_error(said);
}

void make(const anybit_view& view, const anybit_codegen_options& options, const fs::path& path) {
  const std::chrono::seconds limit = time_limit(options);
  const Workshop workshop(path.has_parent_path() ? path.parent_path() : fs::path("."));
  generate_c(view, options, workshop.path() / (kName + ".c"));
  std::ofstream entries(workshop.path() / "entries.c", std::ios::binary);
  entries << entries_of(*view.graph, kName);
  entries.close();
  if (!entries) throw std::runtime_error("cannot write entries.c");
  std::vector<std::string> words = compiler();
  // Fused multiply-add would round differently from the model.
  for (const char* one : {"-std=c99", "-ffp-contract=off", "-shared", "-fPIC", "-fvisibility=hidden", "-w"})
    words.emplace_back(one);
  for (const std::string& one : flags(options.preference)) words.push_back(one);
  const fs::path target = fs::absolute(path);
  words.insert(words.end(), {"-o", target.string(), kName + ".c", "entries.c"});
  if (fs::exists(workshop.path() / (kName + ".S"))) words.push_back(kName + ".S");
  words.emplace_back("-lm");
  run_program(words, workshop.path(), limit);
  if (!fs::exists(target)) throw std::runtime_error(fmt::format("'{}' wrote no library", words[0]));
}

}  // namespace

int generate(const anybit_view* view, const anybit_codegen_options* options, const char* path,
             anybit_text* error) {
  std::string message;
  try {
    make(*view, *options, path);
    return 0;
  } catch (const std::bad_alloc&) {
    message = "so-gen ran out of memory";
  } catch (const std::exception& problem) {
    message = problem.what();
  }
  error->write(error->target, message.data(), message.size());
  return 1;
}

}  // namespace anybit::sogen
