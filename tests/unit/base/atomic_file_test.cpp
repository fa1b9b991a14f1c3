#include "base/atomic_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "base/mapped_file.hpp"
#include "unit/base/scratch.hpp"

namespace anybit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
namespace fs = std::filesystem;

Result<void> save(const std::string& path, std::string_view text) {
  auto file = AtomicFile::create(path);
  if (!file.ok()) return file.error();
  if (auto written = file->write(text); !written.ok()) return written;
  return file->commit();
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

TEST(AtomicFile, AppearsOnCommitOnly) {
  const Scratch scratch;
  scratch.put("f", "old");
  auto file = AtomicFile::create(scratch.file("f"));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write("new").ok());
  EXPECT_EQ(scratch.content("f"), "old");
  ASSERT_TRUE(file->finish().ok());
  EXPECT_EQ(scratch.content("f"), "old");
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(scratch.content("f"), "new");
  EXPECT_THAT(scratch.names(), ElementsAre("f"));
}

TEST(AtomicFile, LeavesNothingWhenItIsDropped) {
  const Scratch scratch;
  scratch.put("f", "old");
  {
    auto file = AtomicFile::create(scratch.file("f"));
    ASSERT_TRUE(file->write("new").ok());
    EXPECT_EQ(scratch.names().size(), 2u);
  }
  EXPECT_EQ(scratch.content("f"), "old");
  EXPECT_THAT(scratch.names(), ElementsAre("f"));
  {
    auto file = AtomicFile::create(scratch.file("g"));
    ASSERT_TRUE(file->finish().ok());
  }
  EXPECT_THAT(scratch.names(), ElementsAre("f"));
}

TEST(AtomicFile, CanBeMoved) {
  const Scratch scratch;
  auto first = std::move(AtomicFile::create(scratch.file("f"))).value();
  auto second = std::move(AtomicFile::create(scratch.file("g"))).value();
  ASSERT_TRUE(first.write("text").ok());
  second = std::move(first);
  EXPECT_EQ(scratch.names().size(), 1u);
  EXPECT_EQ(second.position(), 4u);
  ASSERT_TRUE(second.commit().ok());
  EXPECT_THAT(scratch.names(), ElementsAre("f"));
  EXPECT_EQ(scratch.content("f"), "text");
}

TEST(AtomicFile, PadsWithZeros) {
  const Scratch scratch;
  auto file = std::move(AtomicFile::create(scratch.file("f"))).value();
  ASSERT_TRUE(file.pad_to(4096).ok());
  EXPECT_EQ(file.position(), 0u);
  ASSERT_TRUE(file.write("abc").ok());
  ASSERT_TRUE(file.pad_to(8).ok());
  EXPECT_EQ(file.position(), 8u);
  ASSERT_TRUE(file.pad_to(10'000).ok());
  ASSERT_TRUE(file.commit().ok());
  EXPECT_EQ(scratch.content("f"), std::string("abc").append(9997, '\0'));
}

TEST(AtomicFile, KeepsThePermissionsOfTheFileItReplaces) {
  const Scratch scratch;
  const mode_t old = umask(027);
  EXPECT_TRUE(save(scratch.file("new"), "x").ok());
  scratch.put("shared", "x");
  EXPECT_EQ(chmod(scratch.file("shared").c_str(), 0666), 0);
  EXPECT_TRUE(save(scratch.file("shared"), "y").ok());
  scratch.put("private", "x");
  EXPECT_EQ(chmod(scratch.file("private").c_str(), 0600), 0);
  EXPECT_TRUE(save(scratch.file("private"), "y").ok());
  umask(old);
  EXPECT_EQ(mode_of(scratch.file("new")), 0640u);
  EXPECT_EQ(mode_of(scratch.file("shared")), 0666u);
  EXPECT_EQ(mode_of(scratch.file("private")), 0600u);
}

TEST(AtomicFile, ReplacesTheTargetOfALink) {
  const Scratch scratch;
  fs::create_directory(scratch.file("far"));
  scratch.put("far/f", "old");
  fs::create_symlink("far/f", scratch.file("second"));
  fs::create_symlink(scratch.file("second"), scratch.file("first"));
  fs::create_symlink("far/new", scratch.file("dangling"));
  EXPECT_TRUE(save(scratch.file("first"), "new").ok());
  EXPECT_TRUE(save(scratch.file("dangling"), "made").ok());
  EXPECT_EQ(scratch.content("far/f"), "new");
  EXPECT_EQ(scratch.content("far/new"), "made");
  for (const char* link : {"first", "second", "dangling"})
    EXPECT_TRUE(fs::is_symlink(scratch.file(link))) << link;
}

TEST(AtomicFile, RejectsWhatIsNotAFile) {
  const Scratch scratch;
  fs::create_directory(scratch.file("folder"));
  mkfifo(scratch.file("fifo").c_str(), 0600);
  fs::create_symlink("loop", scratch.file("loop"));
  fs::create_symlink("/dev/null", scratch.file("null"));
  const auto names = scratch.names();
  const auto text = [&](const std::string& path) { return AtomicFile::create(path).error().text(); };
  EXPECT_THAT(text(scratch.file("folder")), HasSubstr("it is a folder"));
  EXPECT_THAT(text(scratch.file("folder/")), HasSubstr("names no file"));
  EXPECT_THAT(text(scratch.file("folder/.")), HasSubstr("it is a folder"));
  EXPECT_THAT(text(""), HasSubstr("names no file"));
  EXPECT_THAT(text(std::string("a\0b", 3)), HasSubstr("names no file"));
  EXPECT_THAT(text(scratch.file("fifo")), HasSubstr("not a regular file"));
  EXPECT_THAT(text(scratch.file("null")), HasSubstr("not a regular file"));
  EXPECT_THAT(text(scratch.file("loop")), HasSubstr("symbolic links"));
  EXPECT_THAT(text(scratch.file("none/f")), HasSubstr("No such file"));
  EXPECT_THAT(text(scratch.file(std::string(300, 'a'))), HasSubstr("File name too long"));
  EXPECT_EQ(scratch.names(), names);
}

TEST(AtomicFile, TakesTheLongestName) {
  const Scratch scratch;
  const std::string name(255, 'n');
  EXPECT_TRUE(save(scratch.file(name), "x").ok());
  EXPECT_EQ(scratch.content(name), "x");
}

TEST(AtomicFile, StaysInItsFolderWhenTheCallerMovesElsewhere) {
  const Scratch scratch;
  const fs::path before = fs::current_path();
  fs::current_path(scratch.path());
  auto file = AtomicFile::create("f");
  fs::current_path(before);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write("text").ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(scratch.content("f"), "text");
}

TEST(AtomicFile, AnswersCallsOutOfOrder) {
  const Scratch scratch;
  auto file = std::move(AtomicFile::create(scratch.file("f"))).value();
  ASSERT_TRUE(file.finish().ok());
  EXPECT_EQ(file.write("late").error().code, Code::invalid_state);
  EXPECT_TRUE(file.finish().ok());
  EXPECT_TRUE(file.commit().ok());
  EXPECT_EQ(file.commit().error().code, Code::invalid_state);
}

// The file size limit stands for a full disk; it splits the write in two, and the second part fails.
TEST(AtomicFile, CannotBeCommittedAfterAnError) {
  const Scratch scratch;
  scratch.put("f", "old");
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{.rlim_cur = 10'000, .rlim_max = old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  auto file = std::move(AtomicFile::create(scratch.file("f"))).value();
  const auto written = file.write(std::string(20'000, 'x'));
  setrlimit(RLIMIT_FSIZE, &old);
  sigset_t waiting;
  ASSERT_EQ(sigpending(&waiting), 0);
  EXPECT_EQ(sigismember(&waiting, SIGXFSZ), 0) << "a signal is pending";
  EXPECT_EQ(written.error().code, Code::io);
  EXPECT_THAT(written.error().text(), HasSubstr("File too large"));
  EXPECT_THAT(scratch.names(), ElementsAre("f"));
  EXPECT_EQ(file.write("more").error().code, Code::invalid_state);
  EXPECT_EQ(file.commit().error().code, Code::invalid_state);
  EXPECT_EQ(scratch.content("f"), "old");
}

TEST(AtomicFile, ReportsThatItsSourceIsGone) {
  const Scratch scratch;
  scratch.put("f", "old");
  const auto source = std::move(MappedFile::open(scratch.put("source", std::string(1 << 20, 'x')))).value();
  auto file = std::move(AtomicFile::create(scratch.file("f"))).value();
  ASSERT_EQ(truncate(source->path().c_str(), 4096), 0);
  EXPECT_EQ(file.write(source->bytes().span()).error().code, Code::data_lost);
  EXPECT_EQ(source->intact().error().code, Code::data_lost);
  EXPECT_THAT(scratch.names(), ElementsAre("f", "source"));
  EXPECT_EQ(scratch.content("f"), "old");
}

// A process that holds temporary files open, and its report at start.
class Writer {
 public:
  explicit Writer(const std::string& path, bool finished) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    child_ = fork();
    if (child_ == 0) {
      auto file = AtomicFile::create(path);
      const bool good = file.ok() && file->write("half").ok() && (!finished || file->finish().ok());
      if (::write(ends[1], good ? "y" : "n", 1) != 1) _exit(1);
      for (;;) pause();
    }
    char answer = 0;
    EXPECT_EQ(::read(ends[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~Writer() { end(); }
  void end() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    EXPECT_EQ(waitpid(std::exchange(child_, -1), nullptr, 0) > 0, true);
  }

 private:
  pid_t child_ = -1;
};

// A process checks each folder only once, so another process saves.
void save_elsewhere(const std::string& path) {
  const pid_t child = fork();
  if (child == 0) _exit(save(path, "whole").ok() ? 0 : 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(AtomicFile, RemovesLeftoversOfAKilledProcessAndNothingElse) {
  for (const bool finished : {false, true}) {
    const Scratch scratch;
    scratch.put(".anybit-notes.tmp", "a user's own");
    scratch.put(".anybit-abc", "a file with a folder's name");
    fs::create_symlink("g", scratch.file(".anybit-0123456789abcdef.tmp"));
    Writer alive(scratch.file("f"), finished), killed(scratch.file("g"), finished);
    fs::create_directories(scratch.file(".anybit-AbCdEf/inner"));  // of a generator that was killed
    EXPECT_THAT(scratch.names(), SizeIs(6));
    killed.end();
    save_elsewhere(scratch.file("h"));
    EXPECT_THAT(scratch.names(), SizeIs(5)) << "the link, two of a user's, h, and what is being written";
    EXPECT_FALSE(fs::exists(scratch.file(".anybit-AbCdEf")));
    alive.end();
    save_elsewhere(scratch.file("h"));
    EXPECT_THAT(scratch.names(),
                ElementsAre(".anybit-0123456789abcdef.tmp", ".anybit-abc", ".anybit-notes.tmp", "h"));
  }
}

}  // namespace
}  // namespace anybit
