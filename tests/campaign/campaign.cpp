// Mutated models through all of anybit, many in one process: campaign [OPTIONS] MODEL|FOLDER…
//   --models N   how many (default 1000)        --seed S    the first one's seed (default 1)
//   --jobs N     processes side by side          --plugins D where generators are
//   --replay S   one case again, in this process --write F   its model into a file
// Each batch runs in its own process: a crash ends only that batch, and its seed is printed. The exit code is
// 1 if a model crashed, took too much time or memory, or violated a property.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include "../../fuzz/through.hpp"
#include "base/poison.hpp"
#include "io/model_file.hpp"
#include "io/onnx/save.hpp"
#include "mutate.hpp"

namespace anybit::campaign {
namespace {

constexpr std::uint64_t kBatch = 200;
constexpr int kSeconds = 20;                     // CPU time per model; beyond that it hangs
constexpr std::uintmax_t kLargestSeed = 40'000;  // bytes; larger models are not mutated
constexpr rlim_t kMemory = rlim_t{3} << 30;      // per process

struct Settings {
  std::uint64_t models = 1000, seed = 1, jobs = 2;
  std::string plugins, write, folder;
  bool replay = false;
  std::vector<std::string> files;
};

// The state of a batch in shared memory, for its parent: the batch may end at any moment.
struct Told {
  std::uint64_t current = 0, loaded = 0, done = 0, violations = 0;
  char stage[32] = {};
};

std::vector<graph::Model> seeds_of(const Settings& settings) {
  std::vector<std::string> paths;
  for (const std::string& one : settings.files) {
    if (!std::filesystem::is_directory(one)) {
      paths.push_back(one);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(one)) {
      if (entry.path().extension() == ".onnx" && entry.file_size() <= kLargestSeed)
        paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<graph::Model> models;
  for (const std::string& path : paths) {
    auto model = io::load(path);
    if (model.ok()) models.push_back(*std::move(model));
  }
  return models;
}

void violate(Told& told, std::uint64_t seed, const std::string& what) {
  ++told.violations;
  fmt::print("seed {}: {}: {}\n", seed, told.stage, what.substr(0, 300));
  std::fflush(stdout);
}

void one_case(const std::vector<graph::Model>& seeds, const Settings& settings, std::uint64_t seed,
              Told& told) {
  Random random(seed);
  graph::Model model = seeds[random() % seeds.size()];
  mutate(model, random);
  std::strcpy(told.stage, "save");
  const auto bytes = onnx::serialize(model);
  if (!bytes.ok()) return;
  if (!settings.write.empty()) {
    std::FILE* file = std::fopen(settings.write.c_str(), "wb");
    if (file) std::fwrite(bytes->data(), 1, bytes->size(), file);
    if (file) std::fclose(file);
  }
  through::Options options;
  options.seed = random();
  options.plugins = {settings.plugins};
  if (!settings.plugins.empty()) options.code = fmt::format("{}/{}.c", settings.folder, getpid());
  options.entered = [&](const char* stage) { std::strncpy(told.stage, stage, sizeof told.stage - 1); };
  options.violated = [&](const std::string& what) { violate(told, seed, what); };
  told.loaded += through::Journey(*bytes, options).go();
}

[[noreturn]] void batch(const std::vector<graph::Model>& seeds, const Settings& settings, std::uint64_t first,
                        std::uint64_t last, Told& told) {
  const rlimit memory{kMemory, kMemory};
  if (!kPoisons) setrlimit(RLIMIT_AS, &memory);  // AddressSanitizer reserves the whole address space
  for (std::uint64_t seed = first; seed < last; ++seed) {
    told.current = seed;
    const itimerval time{{0, 0}, {kSeconds, 0}};
    setitimer(ITIMER_PROF, &time, nullptr);
    one_case(seeds, settings, seed, told);
    ++told.done;
  }
  _exit(0);
}

// Runs the seeds [first, last] in batches.
std::uint64_t worker(const std::vector<graph::Model>& seeds, const Settings& settings, std::uint64_t first,
                     std::uint64_t last, Told& told) {
  std::uint64_t crashes = 0;
  while (first < last) {
    const std::uint64_t end = std::min(last, first + kBatch);
    const pid_t child = fork();
    if (child == 0) batch(seeds, settings, first, end, told);
    int status = 0;
    waitpid(child, &status, 0);
    first = end;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    // The model decides how long a run takes; the steps before are anybit's responsibility.
    const bool ran = std::strncmp(told.stage, "run", 3) == 0 || std::strcmp(told.stage, "quantize") == 0;
    const bool hung = signal == SIGPROF;
    if (!(hung && ran)) {
      ++crashes;
      fmt::print("seed {}: {}: {}\n", told.current, told.stage,
                 hung     ? "takes too long"
                 : signal ? fmt::format("signal {}", signal)
                          : fmt::format("exit code {}", WEXITSTATUS(status)));
      std::fflush(stdout);
    }
    first = told.current + 1;
  }
  return crashes;
}

Settings settings_of(int count, char** arguments) {
  Settings settings;
  for (int i = 1; i < count; ++i) {
    const std::string one = arguments[i];
    const auto next = [&] { return std::string(i + 1 < count ? arguments[++i] : ""); };
    const auto number = [&] { return std::strtoull(next().c_str(), nullptr, 10); };
    if (one == "--models")
      settings.models = number();
    else if (one == "--seed")
      settings.seed = number();
    else if (one == "--jobs")
      settings.jobs = std::max<std::uint64_t>(1, number());
    else if (one == "--plugins")
      settings.plugins = std::filesystem::absolute(next());
    else if (one == "--write")
      settings.write = next();
    else if (one == "--replay")
      settings.replay = true, settings.seed = number();
    else
      settings.files.push_back(one);
  }
  settings.folder = std::filesystem::temp_directory_path() / fmt::format("campaign-{}", getpid());
  return settings;
}

int run(int count, char** arguments) {
  const Settings settings = settings_of(count, arguments);
  const std::vector<graph::Model> seeds = seeds_of(settings);
  if (seeds.empty()) {
    fmt::print(stderr, "no models to mutate are given\n");
    return 2;
  }
  std::filesystem::create_directories(settings.folder);
  Told* told = static_cast<Told*>(
      mmap(nullptr, sizeof(Told) * settings.jobs, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (std::uint64_t i = 0; i < settings.jobs; ++i) new (told + i) Told();
  if (settings.replay) {
    one_case(seeds, settings, settings.seed, *told);
    std::filesystem::remove_all(settings.folder);
    return told->violations != 0;
  }
  std::vector<pid_t> workers;
  for (std::uint64_t i = 0; i < settings.jobs; ++i) {
    const std::uint64_t first = settings.seed + settings.models * i / settings.jobs;
    const std::uint64_t last = settings.seed + settings.models * (i + 1) / settings.jobs;
    const pid_t child = fork();
    if (child == 0) _exit(worker(seeds, settings, first, last, told[i]) != 0);
    workers.push_back(child);
  }
  bool crashed = false;
  for (const pid_t one : workers) {
    int status = 0;
    waitpid(one, &status, 0);
    crashed = crashed || status != 0;
  }
  Told all;
  for (std::uint64_t i = 0; i < settings.jobs; ++i) {
    all.done += told[i].done;
    all.loaded += told[i].loaded;
    all.violations += told[i].violations;
  }
  std::filesystem::remove_all(settings.folder);
  fmt::print("{} models from {} seeds, {} of them loaded; {} violations{}\n", all.done, seeds.size(),
             all.loaded, all.violations, crashed ? ", and crashes" : "");
  return crashed || all.violations != 0;
}

}  // namespace
}  // namespace anybit::campaign

int main(int count, char** arguments) { return anybit::campaign::run(count, arguments); }
