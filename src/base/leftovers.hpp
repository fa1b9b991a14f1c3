// Temporary files and folders that a process which was killed could not remove. Each is locked (flock) by the
// process that writes it, and the kernel drops the lock when that process ends: what can be locked belongs to
// nobody. Removing is a courtesy: it never fails what it is done beside.
#pragma once

namespace anybit {

// Takes the lock on a temporary file or folder just made; it lasts as long as the descriptor and its copies.
// False: another process took it for a leftover, and it is lost. Where there are no locks, nothing is ever
// removed.
bool claim(int descriptor);

// Removes this user's leftovers (.anybit-….tmp, .anybit-……/) from an open folder, once in the life of a
// process.
void remove_leftovers(int folder) noexcept;

}  // namespace anybit
