#include "program.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>

#include "heap.hpp"
#include "last_resort.hpp"
#include "terminal.hpp"

namespace anybit::cli {

void complain(std::string_view program, std::string_view message, std::string_view hint) {
  fmt::print(stderr, "{}: {}\n", program, message);
  if (!hint.empty()) fmt::print(stderr, "  hint: {}\n", hint);
}

int report(std::string_view program, const Error& error, bool json) {
  const std::string where = error.place.empty() ? "" : error.place + ": ";
  complain(program, printable(where + error.message), printable(error.hint));
  if (json) {
    const nlohmann::ordered_json text{{"error",
                                       {{"code", name_of(error.code)},
                                        {"message", error.message},
                                        {"place", error.place},
                                        {"hint", error.hint}}}};
    fmt::print("{}\n", text.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  return error.code == Code::invalid_argument ? kWrongCall : kFailed;
}

int run_program(std::string_view name, const std::function<int()>& body) {
  survive_large_files();
  take_heap_in_large_steps();
  try {
    const int code = body();
    // Writing the rest of the buffer may fail: the disk may be full.
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    fmt::print(stderr, "{}: cannot write to standard output\n", name);
    return code == kFine ? kFailed : code;
  } catch (const std::bad_alloc&) {
    // Not fmt::print(), which may need memory.
    std::fwrite(name.data(), 1, name.size(), stderr);
    std::fputs(": not enough memory\n", stderr);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
  }
  return kFailed;
}

}  // namespace anybit::cli
