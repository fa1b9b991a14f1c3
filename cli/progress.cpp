#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <cmath>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace anybit::cli {
namespace {

constexpr double kRedraw = 0.1, kLines = 5;  // seconds between two redraws, and between two lines

bool is_terminal() {
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && !(terminal && std::string_view(terminal) == "dumb");
}

std::string time_text(double seconds) {
  const std::int64_t whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  return fmt::format("{}:{:02} h", whole / 3600, whole / 60 % 60);
}

std::string rate_text(double rate) {
  return rate >= 100 ? fmt::format("{:.0f}", rate) : fmt::format("{:.1f}", rate);
}

}  // namespace

Progress::Progress(std::string what, std::string unit, std::optional<std::int64_t> total)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      total_(total && *total > 0 ? total : std::nullopt),
      terminal_(is_terminal()),
      begin_(Clock::now()),
      shown_(begin_) {}

Progress::~Progress() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

std::string Progress::text(std::int64_t done, double seconds) const {
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  std::string text = what_ + ": ";
  if (total_) {
    constexpr std::int64_t kWidth = 24;
    const std::int64_t part = std::min(done, *total_);
    const auto filled = static_cast<std::size_t>(part * kWidth / *total_);
    if (terminal_) text += fmt::format("[{:<{}}] ", std::string(filled, '#'), kWidth);
    text += fmt::format("{} of {} {}", done, *total_, unit_);
  } else {
    text += fmt::format("{} {}", done, unit_);
  }
  text += fmt::format(", {} per second", rate_text(rate));
  if (total_ && rate > 0 && done < *total_)
    text += fmt::format(", {} left", time_text(static_cast<double>(*total_ - done) / rate));
  return text;
}

void Progress::show(std::int64_t done) {
  const Clock::time_point now = Clock::now();
  const bool last = total_ && done >= *total_;
  if (std::chrono::duration<double>(now - shown_).count() < (terminal_ ? kRedraw : kLines) &&
      !(last && drawn_))
    return;
  shown_ = now;
  const std::string line = text(done, std::chrono::duration<double>(now - begin_).count());
  if (terminal_) {
    fmt::print(stderr, "\r{}\x1b[K", line);
    drawn_ = true;
  } else {
    fmt::print(stderr, "{}\n", line);
  }
  std::fflush(stderr);
}

}  // namespace anybit::cli
