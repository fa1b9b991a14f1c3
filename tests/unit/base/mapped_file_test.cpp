// Files that shrink, change or fail while they are mapped: no crash, zeros, and finally an error.
#include "base/mapped_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csetjmp>
#include <numeric>
#include <thread>

#include "base/error.hpp"
#include "base/sigbus_guard.hpp"
#include "unit/base/scratch.hpp"

namespace anybit {
namespace {

using testing::HasSubstr;

constexpr std::size_t kSize = std::size_t{1} << 18;

std::shared_ptr<const MappedFile> opened(const std::string& path) {
  auto file = MappedFile::open(path);
  EXPECT_TRUE(file.ok()) << file.error().text();
  return *file;
}

std::size_t count_of(const Bytes& bytes, char value) {
  return static_cast<std::size_t>(std::count(bytes.text().begin(), bytes.text().end(), value));
}

TEST(MappedFile, HasTheContentOfTheFile) {
  const Scratch scratch;
  for (std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{65536}, std::size_t{65537}, kSize}) {
    std::string text(size, '\0');
    std::iota(text.begin(), text.end(), '\0');
    const auto file = opened(scratch.put("f", text));
    EXPECT_EQ(file->bytes().text(), text);
    EXPECT_TRUE(file->intact().ok());
  }
}

TEST(MappedFile, LivesAsLongAsItsBytes) {
  const Scratch scratch;
  const Bytes bytes = opened(scratch.put("f", std::string(kSize, 'x')))->bytes().part(kSize - 10, 10);
  EXPECT_EQ(bytes.text(), "xxxxxxxxxx");
}

TEST(MappedFile, SaysWhyItCannotBeOpened) {
  const Scratch scratch;
  EXPECT_EQ(MappedFile::open(scratch.file("none")).error().code, Code::not_found);
  EXPECT_THAT(MappedFile::open(scratch.path()).error().text(), HasSubstr("it is a folder"));
  ASSERT_EQ(mkfifo(scratch.file("fifo").c_str(), 0600), 0);
  EXPECT_THAT(MappedFile::open(scratch.file("fifo")).error().text(), HasSubstr("not a regular file"));
  EXPECT_THAT(MappedFile::open("/dev/zero").error().text(), HasSubstr("not a regular file"));
  EXPECT_THAT(MappedFile::open(std::string("a\0b", 3)).error().text(), HasSubstr("zero byte"));
}

TEST(MappedFile, ReadsZerosWhereTheFileWasCutOff) {
  const Scratch scratch;
  const auto file = opened(scratch.put("f", std::string(kSize, 'x')));
  ASSERT_EQ(truncate(file->path().c_str(), 8192), 0);
  EXPECT_EQ(count_of(file->bytes(), 'x'), 8192u);
  EXPECT_EQ(count_of(file->bytes(), '\0'), kSize - 8192);
  const auto intact = file->intact();
  ASSERT_FALSE(intact.ok());
  EXPECT_EQ(intact.error().code, Code::data_lost);
  EXPECT_THAT(intact.error().text(), HasSubstr(file->path()));
}

TEST(MappedFile, IsNotIntactWhenItShrankUnread) {
  const Scratch scratch;
  const auto file = opened(scratch.put("f", std::string(kSize, 'x')));
  ASSERT_EQ(truncate(file->path().c_str(), kSize - 1), 0);
  EXPECT_THAT(file->intact().error().text(), HasSubstr("became shorter"));
}

TEST(MappedFile, IsNotIntactWhenSomebodyWroteToIt) {
  const Scratch scratch;
  const auto file = opened(scratch.put("f", std::string(kSize, 'x')));
  std::this_thread::sleep_for(
      std::chrono::milliseconds(20));  // file times may have the resolution of a clock tick
  scratch.put("f", std::string(kSize, 'y'));
  EXPECT_EQ(file->intact().error().code, Code::data_lost);
}

TEST(MappedFile, RemembersALossThatTheFileNoLongerShows) {
  const Scratch scratch;
  const auto file = opened(scratch.put("f", std::string(kSize, 'x')));
  struct stat before {};
  ASSERT_EQ(stat(file->path().c_str(), &before), 0);
  ASSERT_EQ(truncate(file->path().c_str(), 0), 0);
  EXPECT_EQ(count_of(file->bytes(), '\0'), kSize);
  scratch.put("f", std::string(kSize, 'x'));
  const timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, file->path().c_str(), times, 0), 0);
  EXPECT_EQ(file->intact().error().code, Code::data_lost);
}

TEST(MappedFile, IsIntactWhenAnotherFileTakesItsName) {
  const Scratch scratch;
  const auto file = opened(scratch.put("f", std::string(kSize, 'x')));
  std::filesystem::rename(scratch.put("g", "new"), scratch.file("f"));
  EXPECT_TRUE(file->intact().ok());
  EXPECT_EQ(count_of(file->bytes(), 'x'), kSize);
}

TEST(MappedFile, SurvivesTruncationUnderSeveralReaders) {
  const Scratch scratch;
  for (int round = 0; round < 8; ++round) {
    std::vector<std::shared_ptr<const MappedFile>> files;
    for (int i = 0; i < 4; ++i)
      files.push_back(opened(scratch.put(fmt::format("f{}", i), std::string(kSize, 'x'))));
    std::atomic<bool> go = false;
    std::atomic<int> odd = 0;
    std::vector<std::thread> readers;
    for (int reader = 0; reader < 4; ++reader) {
      readers.emplace_back([&] {
        while (!go) std::this_thread::yield();
        for (int pass = 0; pass < 3; ++pass) {
          for (const auto& file : files)
            odd += count_of(file->bytes(), 'x') + count_of(file->bytes(), '\0') < kSize;
        }
      });
    }
    go = true;
    for (const auto& file : files) ASSERT_EQ(truncate(file->path().c_str(), 100), 0);
    for (std::thread& reader : readers) reader.join();
    for (const auto& file : files) {
      EXPECT_EQ(count_of(file->bytes().part(kSize / 2, kSize / 2), '\0'), kSize / 2);
      EXPECT_EQ(file->intact().error().code, Code::data_lost);
    }
  }
}

TEST(MappedFile, LosingOneFileLeavesTheOthersIntact) {
  const Scratch scratch;
  const auto kept = opened(scratch.put("kept", std::string(kSize, 'k')));
  {
    const auto cut = opened(scratch.put("cut", std::string(kSize, 'x')));
    ASSERT_EQ(truncate(cut->path().c_str(), 0), 0);
    EXPECT_EQ(count_of(cut->bytes(), '\0'), kSize);
    EXPECT_FALSE(cut->intact().ok());
  }
  EXPECT_TRUE(kept->intact().ok());
  const auto next = opened(scratch.put("next", std::string(kSize, 'n')));
  EXPECT_TRUE(next->intact().ok()) << "a slot forgets its last user";
}

TEST(MappedFile, IsReadIntoMemoryWhenNoSlotIsLeft) {
  const Scratch scratch;
  std::vector<int> slots;
  for (int slot; (slot = guard_against_sigbus({})) >= 0;) slots.push_back(slot);
  const auto file = opened(scratch.put("f", std::string(kSize, 'x')));
  for (int slot : slots) stop_guarding(slot);
  ASSERT_EQ(truncate(file->path().c_str(), 0), 0);
  EXPECT_EQ(count_of(file->bytes(), 'x'), kSize);
  EXPECT_TRUE(file->intact().ok());
  EXPECT_LE(slots.size(), static_cast<std::size_t>(kGuardSlots));
}

// A mapping of a truncated file that the guard does not know.
const volatile char* foreign_mapping(const Scratch& scratch) {
  const std::string path = scratch.put("foreign", std::string(kSize, 'x'));
  const int descriptor = ::open(path.c_str(), O_RDONLY);
  void* memory = mmap(nullptr, kSize, PROT_READ, MAP_PRIVATE, descriptor, 0);
  ::close(descriptor);
  EXPECT_EQ(truncate(path.c_str(), 0), 0);
  return static_cast<const char*>(memory);
}

sigjmp_buf escape;

void use_guard(const Scratch& scratch) {
  const auto file = opened(scratch.put("own", std::string(kSize, 'x')));
  if (truncate(file->path().c_str(), 0) != 0 || count_of(file->bytes(), '\0') != kSize) _exit(3);
}

// The children are new processes: each installs the handler once, after the test's own.
class ForeignSigbusDeathTest : public testing::Test {
 protected:
  ForeignSigbusDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  const Scratch scratch_;
};

TEST_F(ForeignSigbusDeathTest, ReachesThePreviousHandler) {
  EXPECT_EXIT(
      {
        struct sigaction action {};
        action.sa_handler = [](int) { siglongjmp(escape, 1); };
        sigaction(SIGBUS, &action, nullptr);
        use_guard(scratch_);
        if (sigsetjmp(escape, 1) == 0) _exit(*foreign_mapping(scratch_) == 'x' ? 1 : 2);
        use_guard(scratch_);
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(ForeignSigbusDeathTest, ReachesAHandlerThatWantsTheAddress) {
  EXPECT_EXIT(
      {
        static const volatile char* memory = foreign_mapping(scratch_);
        struct sigaction action {};
        action.sa_flags = SA_SIGINFO;
        action.sa_sigaction = [](int, siginfo_t* info, void*) { _exit(info->si_addr == memory ? 0 : 1); };
        sigaction(SIGBUS, &action, nullptr);
        use_guard(scratch_);
        _exit(*memory == 'x' ? 2 : 3);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(ForeignSigbusDeathTest, KillsWhenNobodyHandlesIt) {
  EXPECT_EXIT(
      {
        signal(SIGBUS, SIG_DFL);
        use_guard(scratch_);
        _exit(*foreign_mapping(scratch_) == 'x' ? 1 : 2);
      },
      testing::KilledBySignal(SIGBUS), "");
}

TEST_F(ForeignSigbusDeathTest, KillsWhenSentByAnotherProcess) {
  EXPECT_EXIT(
      {
        signal(SIGBUS, SIG_DFL);
        use_guard(scratch_);
        kill(getpid(), SIGBUS);
        _exit(1);
      },
      testing::KilledBySignal(SIGBUS), "");
}

TEST_F(ForeignSigbusDeathTest, IsIgnoredWhenSentToAProcessThatIgnoresIt) {
  EXPECT_EXIT(
      {
        signal(SIGBUS, SIG_IGN);
        use_guard(scratch_);
        kill(getpid(), SIGBUS);
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace anybit
