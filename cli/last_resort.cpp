// Reports out-of-memory errors that no handler in main can catch: before main, in a destructor, in a noexcept
// function. The process then prints a message and exits with the code of any failure. Other uncaught
// exceptions are bugs and terminate the process as usual.
#include "last_resort.hpp"

#include <cxxabi.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>
#include <typeinfo>

namespace anybit::cli {
namespace {

// Nothing here may allocate, or the handler would be entered again.
bool memory_ran_out() {
  const std::type_info* thrown = abi::__cxa_current_exception_type();
  if (thrown)
    return *thrown == typeid(std::bad_alloc) || *thrown == typeid(std::bad_array_new_length) ||
           *thrown == typeid(std::length_error);
  // There may not have been enough memory for the exception itself.
  constexpr std::size_t kLittle = 1 << 16;
  void* volatile piece = std::malloc(kLittle);
  std::free(piece);
  return piece == nullptr;
}

[[noreturn]] void end() {
  if (!memory_ran_out()) __gnu_cxx::__verbose_terminate_handler();
  constexpr std::string_view kMessage = "anybit: not enough memory\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  _exit(1);
}

void before_all_else() { std::set_terminate(end); }

// Runs before the constructors of shared libraries, where memory may run out first.
[[gnu::section(".preinit_array"), gnu::used]] void (*const first_step)() = before_all_else;

}  // namespace

void survive_large_files() { signal(SIGXFSZ, SIG_IGN); }

}  // namespace anybit::cli
