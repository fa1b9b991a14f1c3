// Names that a hostile model may give its data, and the results. Every case runs twice: with openat2, and in
// a process where a filter forbids it, as old kernels and some sandboxes do.
#include "base/safe_open.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <thread>

#include "base/error.hpp"
#include "unit/base/scratch.hpp"

namespace anybit {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

// A model's folder with valid data, and a secret file outside it.
class OpenBeneath : public testing::Test {
 protected:
  OpenBeneath() {
    scratch_.put("secret", "secret");
    fs::create_directories(scratch_.file("model/sub"));
    scratch_.put("model/data", "data");
    scratch_.put("model/sub/data", "sub data");
    fs::create_symlink("../secret", scratch_.file("model/link"));
    fs::create_symlink("data", scratch_.file("model/inner_link"));
    fs::create_directory_symlink("..", scratch_.file("model/parent"));
    fs::create_directory_symlink("sub", scratch_.file("model/inner_parent"));
    fs::create_symlink("loop", scratch_.file("model/loop"));
    fs::create_symlink("/dev/zero", scratch_.file("model/device_link"));
    fs::create_symlink("/proc/self/cwd", scratch_.file("model/magic"));
    fs::create_hard_link(scratch_.file("secret"), scratch_.file("model/hard"));
    mkfifo(scratch_.file("model/fifo").c_str(), 0600);
  }

  // The content, or the error's name and text.
  std::string read(const std::string& name, Links links = Links::refuse,
                   const std::string& folder = "model") {
    const auto opened = Folder::open(scratch_.file(folder));
    const Result<int> file = open_beneath(*opened, name, links);
    if (!file.ok()) return fmt::format("{}: {}", name_of(file.error().code), file.error().text());
    char text[100];
    const ssize_t count = ::read(*file, text, sizeof text);
    ::close(*file);
    return {text, static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
  }

  void expect_rules_hold();
  void expect_linked_rules_hold();

  const Scratch scratch_;
};

void OpenBeneath::expect_rules_hold() {
  const auto refused = [](const std::string& rule) {
    return testing::AllOf(HasSubstr("unsafe_path"), HasSubstr(rule));
  };
  EXPECT_EQ(read("data"), "data");
  EXPECT_EQ(read("./sub//data"), "sub data");
  EXPECT_THAT(read("none"), HasSubstr("not_found"));
  EXPECT_THAT(read("none/data"), HasSubstr("not_found"));
  EXPECT_THAT(read("data/data"), HasSubstr("io: cannot open external data 'data/data': Not a directory"));
  EXPECT_THAT(read(""), refused("empty name"));
  EXPECT_THAT(read("."), refused("is a folder"));
  EXPECT_THAT(read("./"), refused("is a folder"));
  EXPECT_THAT(read("sub"), refused("is a folder"));
  EXPECT_THAT(read("data/"), refused("is a folder"));
  EXPECT_THAT(read("data/."), refused("is a folder"));
  EXPECT_THAT(read(".."), refused("'..'"));
  EXPECT_THAT(read("../secret"), refused("'..'"));
  EXPECT_THAT(read("sub/../../secret"), refused("'..'"));
  EXPECT_THAT(read("sub/../data"), refused("'..'"));
  EXPECT_THAT(read(scratch_.file("model/data")), refused("absolute path"));
  EXPECT_THAT(read("//etc/passwd"), refused("absolute path"));
  EXPECT_THAT(read(std::string("data\0x", 6)), refused("zero byte"));
  EXPECT_THAT(read("link"), refused("symbolic link"));
  EXPECT_THAT(read("link"), HasSubstr("--allow-linked-data"));
  EXPECT_THAT(read("inner_link"), refused("symbolic link"));
  EXPECT_THAT(read("parent/secret"), refused("through a symbolic link"));
  EXPECT_THAT(read("inner_parent/data"), refused("through a symbolic link"));
  EXPECT_THAT(read("magic/data"), refused("symbolic link"));
  EXPECT_THAT(read("loop"), refused("symbolic link"));
  EXPECT_THAT(read("hard"), refused("hard link"));
  EXPECT_THAT(read("hard"), HasSubstr("--allow-linked-data"));
  EXPECT_THAT(read("fifo"), refused("not a regular file"));
  EXPECT_THAT(read("device_link"), refused("symbolic link"));
  EXPECT_THAT(read(std::string(5000, 'a')), refused("name of 5000 bytes"));
  EXPECT_THAT(read(std::string(300, 'a')), HasSubstr("File name too long"));
  std::string deep;
  while (deep.size() < 4000) deep += "sub/";
  EXPECT_THAT(read(deep + "data"), HasSubstr("not_found"));
}

void OpenBeneath::expect_linked_rules_hold() {
  const auto linked = [this](const std::string& name) { return read(name, Links::allow); };
  EXPECT_EQ(linked("data"), "data");
  EXPECT_EQ(linked("link"), "secret");
  EXPECT_EQ(linked("inner_link"), "data");
  EXPECT_EQ(linked("parent/secret"), "secret");
  EXPECT_EQ(linked("hard"), "secret");
  for (const char* name :
       {"", ".", "..", "../secret", "/dev/zero", "sub", "fifo", "device_link", "loop", "data/"}) {
    EXPECT_THAT(linked(name), HasSubstr("unsafe_path")) << name;
  }
}

TEST_F(OpenBeneath, LeadsToRegularFilesBelowTheFolderOnly) { expect_rules_hold(); }

TEST_F(OpenBeneath, FollowsLinksWhenTheUserAllowsThem) { expect_linked_rules_hold(); }

TEST_F(OpenBeneath, RejectsDevices) {
  const auto folder = Folder::open("/dev");
  for (const Links links : {Links::refuse, Links::allow}) {
    EXPECT_THAT(open_beneath(*folder, "null", links).error().text(), HasSubstr("not a regular file"));
  }
}

TEST_F(OpenBeneath, EscapesHostileNames) {
  EXPECT_THAT(read("\x1b[2J"), HasSubstr("'\\x1b[2J'"));
  EXPECT_LT(read(std::string(100'000, 'a')).size(), 600u);
}

TEST_F(OpenBeneath, SaysWhyAFolderCannotBeOpened) {
  EXPECT_EQ(Folder::open(scratch_.file("none")).error().code, Code::not_found);
  EXPECT_EQ(Folder::open(scratch_.file("secret")).error().code, Code::io);
  EXPECT_EQ(Folder::open(std::string("a\0b", 3)).error().code, Code::invalid_argument);
  EXPECT_EQ(Folder::open("")->path(), ".");
}

// One thread swaps a valid file for a link to the secret and a folder for a link to the outside, as fast as
// it can; the other opens both. It may see the data or an error, never the secret.
int times_deceived(const Scratch& scratch) {
  fs::create_directories(scratch.file("race/folder"));
  fs::create_directories(scratch.file("outside"));
  scratch.put("race/honest", "data");
  scratch.put("race/folder/file", "data");
  scratch.put("outside/file", "secret");
  fs::create_symlink("../secret", scratch.file("race/evil"));
  fs::create_directory_symlink("../outside", scratch.file("race/evil_folder"));
  std::atomic<bool> stop = false;
  std::thread swapper([&] {
    const auto path = [&](const char* name) { return scratch.file("race/") + name; };
    while (!stop) {
      renameat2(AT_FDCWD, path("honest").c_str(), AT_FDCWD, path("evil").c_str(), RENAME_EXCHANGE);
      renameat2(AT_FDCWD, path("folder").c_str(), AT_FDCWD, path("evil_folder").c_str(), RENAME_EXCHANGE);
    }
  });
  const auto folder = Folder::open(scratch.file("race"));
  int deceived = 0, honest = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (std::chrono::steady_clock::now() < end) {
    for (const char* name : {"honest", "folder/file"}) {
      const Result<int> file = open_beneath(*folder, name, Links::refuse);
      if (!file.ok()) continue;
      char text[10] = {};
      if (::read(*file, text, sizeof text) < 0) ++deceived;
      ::close(*file);
      deceived += std::string_view(text) != "data";
      ++honest;
    }
  }
  stop = true;
  swapper.join();
  EXPECT_GT(honest, 0);
  return deceived;
}

TEST_F(OpenBeneath, IsNotDeceivedByFilesThatAreSwapped) { EXPECT_EQ(times_deceived(scratch_), 0); }

void forbid_openat2(int error_number) {
  const auto answer = static_cast<unsigned>(SECCOMP_RET_ERRNO) | static_cast<unsigned>(error_number);
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, answer),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = 4, .filter = filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0 ||
      syscall(SYS_openat2, 0, nullptr, nullptr, 0) != -1 || errno != error_number) {
    std::cerr << "cannot forbid openat2\n";
    _exit(2);
  }
}

using OpenBeneathWithoutOpenat2DeathTest = OpenBeneath;

TEST_F(OpenBeneathWithoutOpenat2DeathTest, TheSameRulesHold) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const int error_number : {ENOSYS, EPERM}) {
    EXPECT_EXIT(
        {
          forbid_openat2(error_number);
          expect_rules_hold();
          expect_linked_rules_hold();
          EXPECT_EQ(times_deceived(scratch_), 0);
          std::cout.flush();
          _exit(HasFailure() ? 1 : 0);
        },
        testing::ExitedWithCode(0), "");
  }
}

}  // namespace
}  // namespace anybit
