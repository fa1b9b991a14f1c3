#include "compiler.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>

extern char** environ;

namespace anybit::sogen {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostPrinted = 16 * 1024;

// The read end of a pipe, closed on destruction.
struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0)
      throw std::runtime_error(fmt::format("no pipe: {}", std::strerror(errno)));
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(int which) {
    if (ends[which] >= 0) ::close(ends[which]);
    ends[which] = -1;
  }
};

// Starts the program in its own process group, so that its children can be terminated with it.
pid_t start(const std::vector<std::string>& words, const std::filesystem::path& folder, const Pipe& pipe) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, pipe.ends[1], 1);
  posix_spawn_file_actions_adddup2(&files, pipe.ends[1], 2);
  posix_spawn_file_actions_addchdir_np(&files, folder.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::vector<char*> arguments;
  for (const std::string& one : words) arguments.push_back(const_cast<char*>(one.c_str()));
  arguments.push_back(nullptr);
  pid_t child = -1;
  const int failed = posix_spawnp(&child, arguments[0], &files, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0)
    throw std::runtime_error(fmt::format("cannot start '{}': {}", words[0], std::strerror(failed)));
  return child;
}

// Reads until the program and its children close their end; false on timeout.
bool read_all(int from, Clock::time_point end, std::string& printed) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return false;
    pollfd waiting{from, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::min<std::int64_t>(left, 1000)));
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    char bytes[4096];
    const ssize_t count = ::read(from, bytes, sizeof bytes);
    if (count == 0 || (count < 0 && errno != EINTR)) return true;
    if (count > 0 && printed.size() < kMostPrinted) printed.append(bytes, static_cast<std::size_t>(count));
  }
}

}  // namespace

std::vector<std::string> compiler() {
  const char* named = std::getenv("CC");
  std::istringstream text(named ? named : "");
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return words.empty() ? std::vector<std::string>{"cc"} : words;
}

std::string run_program(const std::vector<std::string>& words, const std::filesystem::path& folder,
                        std::chrono::seconds limit) {
  Pipe pipe;
  const pid_t child = start(words, folder, pipe);
  pipe.close_end(1);
  std::string printed;
  const bool in_time = read_all(pipe.ends[0], Clock::now() + limit, printed);
  if (!in_time) kill(-child, SIGKILL);
  int status = 0;
  pid_t waited = -1;
  do {
    waited = waitpid(child, &status, 0);
  } while (waited < 0 && errno == EINTR);
  if (!in_time) throw std::runtime_error(fmt::format("'{}' took longer than {} s", words[0], limit.count()));
  // A process that ignores SIGCHLD gets no exit status of its children: the output file decides.
  const bool failed = waited == child && (!WIFEXITED(status) || WEXITSTATUS(status) != 0);
  if (failed) throw std::runtime_error(fmt::format("'{}' failed:\n{}", words[0], printed));
  return printed;
}

}  // namespace anybit::sogen
