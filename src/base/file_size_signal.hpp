// Suppresses SIGXFSZ, which by default kills a process that writes past its file size limit. While an object
// lives, writes of the calling thread fail with EFBIG instead; the signal's disposition is unchanged.
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
