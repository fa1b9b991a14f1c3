// Progress of a long step on stderr: a bar with rate and remaining time on a terminal, otherwise a line every
// few seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace anybit::cli {

class Progress {
 public:
  // `what`: "calibrating"; `unit`: "samples". Without a total there is a count instead of a bar.
  Progress(std::string what, std::string unit, std::optional<std::int64_t> total);
  ~Progress();  // erases the bar
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::int64_t done);

 private:
  using Clock = std::chrono::steady_clock;
  std::string text(std::int64_t done, double seconds) const;

  std::string what_, unit_;
  std::optional<std::int64_t> total_;
  bool terminal_;
  Clock::time_point begin_, shown_;
  bool drawn_ = false;
};

}  // namespace anybit::cli
