#include "training.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "numbers.hpp"
#include "options.hpp"

namespace anybit::cli {
namespace {

std::atomic<bool> interrupted = false;

void note_interrupt(int) { interrupted = true; }

std::string left_text(double seconds) {
  const std::int64_t whole = std::llround(seconds);
  return whole < 60 ? fmt::format("{} s", whole) : fmt::format("{}:{:02} min", whole / 60, whole % 60);
}

}  // namespace

struct TrainingProgress::State {
  using Clock = std::chrono::steady_clock;
  struct sigaction before = {};
  bool terminal = false, drawn = false;
  double smooth_loss = 0, smooth_agreement = -1;
  Clock::time_point shown;
};

TrainingProgress::TrainingProgress() : state_(std::make_unique<State>()) {
  const char* terminal = std::getenv("TERM");
  state_->terminal = ::isatty(STDERR_FILENO) == 1 && !(terminal && std::string_view(terminal) == "dumb");
  interrupted = false;
  struct sigaction action = {};
  action.sa_handler = note_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, &state_->before);
}

TrainingProgress::~TrainingProgress() {
  sigaction(SIGINT, &state_->before, nullptr);
  if (!state_->drawn) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

bool TrainingProgress::show(const TrainingStep& step) {
  if (interrupted) return false;
  State& state = *state_;
  const auto follow = [&](double& smooth, double now) {
    smooth = step.step <= 1 || smooth < 0 ? now : 0.9 * smooth + 0.1 * now;
  };
  follow(state.smooth_loss, step.loss);
  follow(state.smooth_agreement, step.agreement);
  const double pause = state.terminal ? 0.1 : 10;  // seconds
  const auto now = State::Clock::now();
  if (std::chrono::duration<double>(now - state.shown).count() < pause && step.step != step.steps)
    return true;
  state.shown = now;
  std::string text =
      fmt::format("training: step {} of {}, loss {:.4g}", step.step, step.steps, state.smooth_loss);
  if (state.smooth_agreement >= 0) text += fmt::format(", agreement {:.2f} %", 100 * state.smooth_agreement);
  text += fmt::format(", {} left", left_text(step.seconds_left));
  if (state.terminal) {
    fmt::print(stderr, "\r{}\x1b[K", text);
    state.drawn = true;
  } else {
    fmt::print(stderr, "{}\n", text);
  }
  std::fflush(stderr);
  return true;
}

void add_training_options(CLI::App& app, TrainingFlags& flags) {
  app.add_flag(
      "--train", flags.train,
      "Quantization-aware training: train the weights behind their quantizers on the calibration data, "
      "without labels");
  constexpr std::uint64_t kMostSteps = 1'000'000'000;
  constexpr double kMostMinutes = 1e6;
  app.add_option("--steps", flags.options.steps, "Steps of training [600 to 4000, by the size of the model]")
      ->transform(parse_integer(1, kMostSteps));
  app.add_option("--minutes", flags.options.minutes, "Train as many steps as fit into this time")
      ->check(number_within(0.01, kMostMinutes));
  app.add_option(
      "--loss", flags.options.loss,
      "Of training: kl (scores of the float model), mse or cosine (its outputs), ce (labels) [by the "
      "outputs]");
  app.add_flag("--resume", flags.resume, "Continue training that was interrupted");
}

}  // namespace anybit::cli
