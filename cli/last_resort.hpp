// Failures outside of any command: signals and out-of-memory errors.
#pragma once

namespace anybit::cli {

// Ignores SIGXFSZ: exceeding the file size limit becomes a write error.
void survive_large_files();

}  // namespace anybit::cli
