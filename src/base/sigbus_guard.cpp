// The handler may run in any thread at any instruction, so it takes no lock and allocates nothing: it reads a
// table of atomics. The version of a slot is odd while its bounds change; readers skip such slots, which is
// safe because memory that is being read is not changing.
#include "base/sigbus_guard.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>

namespace anybit {
namespace {

struct Slot {
  std::atomic<bool> taken;
  std::atomic<bool> lost;
  std::atomic<std::uint32_t> version;
  std::atomic<std::uintptr_t> begin, end;
};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::uintptr_t>::is_always_lock_free);

constinit Slot slots[kGuardSlots];
constinit struct sigaction previous_action {};
constinit std::uintptr_t page_size = 0;

// mmap as a raw system call: the sanitizers' wrappers are not async-signal-safe, and report the new pages as
// a data race with the readers.
#ifdef SYS_mmap2
constexpr long kMapCall = SYS_mmap2;
#else
constexpr long kMapCall = SYS_mmap;
#endif

void set_bounds(Slot& slot, std::uintptr_t begin, std::uintptr_t end) {
  ++slot.version;
  slot.begin = begin;
  slot.end = end;
  ++slot.version;
}

// The slot that contains `address`, and the end of its range.
Slot* slot_around(std::uintptr_t address, std::uintptr_t& end) {
  for (Slot& slot : slots) {
    const std::uint32_t version = slot.version;
    const std::uintptr_t begin = slot.begin;
    end = slot.end;
    if (version % 2 == 0 && begin <= address && address < end && slot.version == version) return &slot;
  }
  return nullptr;
}

// Everything from the bad page on is replaced: if a file shrank, the rest is gone, too. One range of zeros
// costs one signal and one mapping, where single pages could cost a million.
bool replace_by_zeros(std::uintptr_t address) {
  std::uintptr_t end = 0;
  Slot* slot = slot_around(address, end);
  if (slot == nullptr) return false;
  slot->lost = true;
  const std::uintptr_t page = address - address % page_size;
  constexpr long kProtection = PROT_READ;  // the raw call takes register-wide arguments
  constexpr long kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
  return syscall(kMapCall, page, end - page, kProtection, kFlags, -1L, 0L) != -1;
}

// Restores the previous behaviour. A fault (si_code > 0) occurs again on return and then meets the default
// action; a signal that was sent must be sent again. The kernel does not allow a fault to be ignored.
void pass_on(int number, siginfo_t* info, void* context) {
  const bool sent = info->si_code <= 0;
  if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
    previous_action.sa_sigaction(number, info, context);
  } else if (previous_action.sa_handler == SIG_DFL || (previous_action.sa_handler == SIG_IGN && !sent)) {
    signal(number, SIG_DFL);
    if (sent) raise(number);
  } else if (previous_action.sa_handler != SIG_IGN) {
    previous_action.sa_handler(number);
  }
}

void handle(int number, siginfo_t* info, void* context) {
  const int kept_errno = errno;
  const bool fault = info->si_code > 0;
  if (!fault || !replace_by_zeros(reinterpret_cast<std::uintptr_t>(info->si_addr)))
    pass_on(number, info, context);
  errno = kept_errno;
}

// The previous action is read before ours is set, for signals in between.
void install() {
  page_size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  sigaction(SIGBUS, nullptr, &previous_action);
  struct sigaction ours {};
  ours.sa_sigaction = handle;
  ours.sa_mask = previous_action.sa_mask;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (previous_action.sa_flags & (SA_RESTART | SA_NODEFER));
  sigaction(SIGBUS, &ours, nullptr);
}

}  // namespace

int guard_against_sigbus(std::span<const std::byte> stretch) {
  static std::once_flag installed;
  std::call_once(installed, install);
  for (int i = 0; i < kGuardSlots; ++i) {
    if (slots[i].taken.exchange(true)) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(stretch.data());
    slots[i].lost = false;
    set_bounds(slots[i], begin, begin + stretch.size());
    return i;
  }
  return -1;
}

void stop_guarding(int slot) {
  set_bounds(slots[slot], 0, 0);
  slots[slot].taken = false;
}

bool was_lost(int slot) { return slots[slot].lost; }

}  // namespace anybit
