// Which stretches of memory are mapped files, for the handler of SIGBUS. A read that fails inside one of them
// finds zeros from that page on, and the stretch is marked lost.
#pragma once

#include <cstddef>
#include <span>

namespace anybit {

inline constexpr int kGuardSlots = 4096;

// Installs the handler if this is the first stretch. The slot of the stretch, or -1 when all are taken.
int guard_against_sigbus(std::span<const std::byte> stretch);
// Call before the memory is unmapped.
void stop_guarding(int slot);
bool was_lost(int slot);

}  // namespace anybit
