// The memory ranges of mapped files, for the handler of SIGBUS. A read that fails inside one of them gives
// zeros from that page on, and the range is marked lost.
#pragma once

#include <cstddef>
#include <span>

namespace anybit {

inline constexpr int kGuardSlots = 4096;

// Installs the handler for the first range. Returns the slot of the range, or -1 if all are taken.
int guard_against_sigbus(std::span<const std::byte> stretch);
// Call before the memory is unmapped.
void stop_guarding(int slot);
bool was_lost(int slot);

}  // namespace anybit
