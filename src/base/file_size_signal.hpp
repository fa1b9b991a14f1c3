// SIGXFSZ: by default a write beyond the size that the system allows a process's files kills it. While this
// lives, the calling thread's writes fail with EFBIG instead; what the process does about the signal
// otherwise is left as it is.
#pragma once

#include <signal.h>

namespace anybit {

class NoFileSizeSignal {
 public:
  NoFileSizeSignal();
  ~NoFileSizeSignal();
  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;

 private:
  sigset_t before_;
};

}  // namespace anybit
