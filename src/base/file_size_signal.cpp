#include "base/file_size_signal.hpp"

#include <cerrno>
#include <ctime>

namespace anybit {
namespace {

sigset_t the_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  return set;
}

}  // namespace

NoFileSizeSignal::NoFileSizeSignal() {
  const sigset_t set = the_signal();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
}

// The signal is sent to the writing thread: if it was raised, it is pending here and nowhere else.
NoFileSizeSignal::~NoFileSizeSignal() {
  if (sigismember(&before_, SIGXFSZ) != 0) return;  // it was blocked before: the caller handles it
  const int kept_errno = errno;
  const sigset_t set = the_signal();
  sigset_t waiting;
  constexpr timespec kNow{};
  if (sigpending(&waiting) == 0 && sigismember(&waiting, SIGXFSZ) == 1)
    while (sigtimedwait(&set, nullptr, &kNow) < 0 && errno == EINTR) {
    }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = kept_errno;
}

}  // namespace anybit
