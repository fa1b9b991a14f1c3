// Every allocation of every step fails in turn: the call returns out of memory, no file is half-written, and
// the session stays usable. All allocations of this process go through the functions below. out_of_memory
// MODEL FOLDER STEP: tests every STEP-th allocation.
#include <dirent.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "anybit/anybit.h"

namespace {

std::atomic<long> countdown{-1};  // allocations that still succeed; negative: all
std::atomic<bool> fired{false}, lasting{false};
std::atomic<long> live{0};  // allocations by operator new

bool fails() {
  if (countdown.load() < 0) return false;
  if (countdown.load() == 0 && lasting) return fired = true;
  if (countdown.fetch_sub(1) > 0) return false;
  countdown = lasting ? 0 : -1;
  return fired = true;
}

void* taken(std::size_t size, std::size_t alignment) {
  if (fails()) return nullptr;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, size) != 0) return nullptr;
  ++live;
  return memory;
}

void given_back(void* memory) {
  if (memory) --live;
  std::free(memory);
}

void* taken_or_thrown(std::size_t size, std::size_t alignment) {
  void* const memory = taken(size, alignment);
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return taken_or_thrown(size, 16); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return taken_or_thrown(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return taken(size, 16); }
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return taken(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { given_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { given_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { given_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { given_back(memory); }

namespace {

#define REQUIRE(condition)                                                                                   \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      std::fprintf(stderr, "%s:%d: not so: %s (%s, allocation %ld%s): %s\n", __FILE__, __LINE__, #condition, \
                   step_name, allocation, lasting ? " and all after it" : "",                                \
                   session ? anybit_last_error(session) : "");                                               \
      std::_Exit(1);                                                                                         \
    }                                                                                                        \
  } while (0)

const char* step_name = "";
long allocation = 0, stride = 1;
anybit_session* session = nullptr;
std::string folder;

std::vector<std::string> files() {
  std::vector<std::string> names;
  DIR* const open = opendir(folder.c_str());
  REQUIRE(open != nullptr);
  while (const dirent* entry = readdir(open)) names.push_back(entry->d_name);
  closedir(open);
  return names;
}

// Only complete files, under their final names.
void check_files() {
  for (const std::string& name : files()) {
    REQUIRE(name == "." || name == ".." || name == "q.onnx" || name == "m.ranges.json" ||
            name == "m.compiled.json");
  }
}

// Repeats the call, each time with one more successful allocation, until it succeeds. `undo` restores the
// session.
void each_allocation(const char* name, const std::function<anybit_status()>& call,
                     const std::function<void()>& undo) {
  step_name = name;
  for (const bool all : {false, true}) {
    lasting = all;
    for (allocation = 0;; allocation += stride) {
      fired = false;
      countdown = allocation;
      const anybit_status status = call();
      countdown = -1;
      REQUIRE(status == ANYBIT_OUT_OF_MEMORY || status == ANYBIT_OK);
      REQUIRE(fired || status == ANYBIT_OK);
      if (status != ANYBIT_OK && session) REQUIRE(std::strlen(anybit_last_error(session)) > 0);
      check_files();
      if (status != ANYBIT_OK) continue;
      undo();
      if (!fired) break;
    }
    std::printf("%s: %ld allocations%s\n", name, allocation, all ? ", all after one" : "");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const char* const model = argv[1];
  folder = argv[2];
  stride = std::atol(argv[3]);
  const std::string quantized = folder + "/q.onnx";
  float input[8] = {1, -2, 3, -4, 5, -6, 7, -8}, output[4], expected[4];
  const auto fresh = [&](bool loaded, bool prepared) {
    anybit_close_session(session);
    session = nullptr;
    REQUIRE(anybit_create_session(&session) == ANYBIT_OK);
    REQUIRE(anybit_set_threads(session, 2) == ANYBIT_OK);
    REQUIRE(anybit_set_workspace(session, folder.c_str()) == ANYBIT_OK);
    REQUIRE(anybit_set_quantized_model_path(session, quantized.c_str()) == ANYBIT_OK);
    REQUIRE(anybit_set_quantization_type(session, ANYBIT_QUANTIZE_U8_ASYM) == ANYBIT_OK);
    if (!loaded) return;
    REQUIRE(anybit_load_model_from_file(session, model) == ANYBIT_OK);
    REQUIRE(anybit_set_input(session, 0, ANYBIT_TYPE_FLOAT32, input, sizeof input) == ANYBIT_OK);
    REQUIRE(anybit_set_output(session, 0, ANYBIT_TYPE_FLOAT32, output, sizeof output) == ANYBIT_OK);
    if (prepared) REQUIRE(anybit_prepare(session) == ANYBIT_OK);
  };
  // A complete pass first, so that one-time allocations are done.
  for (int i = 0; i < 2; ++i) {
    fresh(true, true);
    REQUIRE(anybit_set_execute_config(session, ANYBIT_GATHER_RANGES) == ANYBIT_OK);
    REQUIRE(anybit_run(session) == ANYBIT_OK);
    REQUIRE(anybit_quantize(session) == ANYBIT_OK);
    REQUIRE(anybit_reset_execute_config(session) == ANYBIT_OK);
    REQUIRE(anybit_run(session) == ANYBIT_OK);
  }
  anybit_close_session(session);
  session = nullptr;
  const long before = live;

  fresh(true, true);
  REQUIRE(anybit_run(session) == ANYBIT_OK);
  std::memcpy(expected, output, sizeof output);
  const auto same_output = [&] {
    REQUIRE(anybit_run(session) == ANYBIT_OK);
    REQUIRE(std::memcmp(output, expected, sizeof output) == 0);
  };

  REQUIRE(anybit_close_session(session) == ANYBIT_OK);
  session = nullptr;
  anybit_session* made = nullptr;
  each_allocation(
      "create", [&] { return anybit_create_session(&made); }, [&] { anybit_close_session(made); });
  fresh(false, false);
  each_allocation(
      "load", [&] { return anybit_load_model_from_file(session, model); }, [&] { fresh(false, false); });
  fresh(true, false);
  each_allocation(
      "prepare", [&] { return anybit_prepare(session); }, [&] { fresh(true, false); });
  fresh(true, true);
  each_allocation(
      "run", [&] { return anybit_run(session); }, same_output);
  const auto gathering = [&] {
    fresh(true, true);
    REQUIRE(anybit_set_execute_config(session, ANYBIT_GATHER_RANGES) == ANYBIT_OK);
  };
  gathering();
  each_allocation(
      "gather", [&] { return anybit_run(session); }, gathering);
  REQUIRE(anybit_reset_ranges(session) == ANYBIT_OK);
  const auto gathered = [&] {
    std::remove(quantized.c_str());
    gathering();
    same_output();
  };
  gathered();
  each_allocation(
      "quantize", [&] { return anybit_quantize(session); }, gathered);
  REQUIRE(anybit_quantize(session) == ANYBIT_OK);
  REQUIRE(anybit_reset_execute_config(session) == ANYBIT_OK);
  REQUIRE(anybit_run(session) == ANYBIT_OK);
  std::memcpy(expected, output, sizeof output);
  each_allocation(
      "run quantized", [&] { return anybit_run(session); }, same_output);
  REQUIRE(anybit_close_session(session) == ANYBIT_OK);
  session = nullptr;
  step_name = "end";
  std::printf("%ld pieces of memory more than before\n", live - before);
  REQUIRE(live == before);
  return 0;
}
