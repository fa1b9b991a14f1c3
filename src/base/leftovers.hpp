// Removes temporary files and folders of killed processes. Each is locked (flock) by the process that writes
// it, and the kernel releases the lock when that process ends: an unlocked one is a leftover. Removal is best
// effort: it never makes the caller fail.
#pragma once

namespace anybit {

// Locks a temporary file or folder just created, for as long as the descriptor or a duplicate is open. False:
// another process took it for a leftover, and it is lost. Where locks are not supported, nothing is ever
// removed.
bool claim(int descriptor);

// Removes this user's leftovers (.anybit-….tmp, .anybit-……/) from an open folder, once per process.
void remove_leftovers(int folder) noexcept;

}  // namespace anybit
