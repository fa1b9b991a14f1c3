// What the program does about ends that no command sees.
#pragma once

namespace anybit::cli {

// Files that grow beyond the size that the system allows are errors of their writers, not the end.
void survive_large_files();

}  // namespace anybit::cli
