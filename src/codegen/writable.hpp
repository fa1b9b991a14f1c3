// Who may change the libraries that are loaded into this process.
#pragma once

#include <string>

#include "anybit/result.hpp"

namespace anybit::codegen {

// An error if anybody at all may write to the file, an absolute path, or put another in its place: into its
// folder or one of those above. In a folder whose files only their owners may move (/tmp) a file counts as
// safe if it is root's or this user's own. The group is taken for people who are trusted.
Result<void> refuse_writable_by_all(const std::string& file);

}  // namespace anybit::codegen
