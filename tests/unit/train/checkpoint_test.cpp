// The state of training on disk.
#include "train/checkpoint.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace anybit::train {
namespace {

const std::shared_ptr<ops::Memory> memory = ops::Memory::make();

ops::Array array_of(std::vector<float> values) {
  ops::Array array =
      ops::Array::make(*memory, graph::ElementType::float32, {static_cast<std::int64_t>(values.size())})
          .value();
  std::ranges::copy(values, array.mutable_data<float>());
  return array;
}

struct File {
  std::string path = (std::filesystem::temp_directory_path() / "anybit_checkpoint_test").string() +
                     std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
                     ::testing::UnitTest::GetInstance()->current_test_info()->name();
  ~File() { std::filesystem::remove(path); }
};

Checkpoint state() {
  Checkpoint state;
  state.step = 7;
  state.steps = 20;
  state.rate_factor = 0.5;
  state.smooth = 0.25;
  state.report.loss_before = 3;
  state.report.curve = {{1, 0.5, 0.75}, {2, 0.25, 0.875}};
  state.pending = {0, 0.125, 0.5};
  state.pending_steps = 1;
  state.values = {{"w", array_of({1, 2, 3})}, {"b", array_of({-1})}};
  state.safe_step = 5;
  state.safe = {{"w", array_of({4, 5, 6})}};
  return state;
}

TEST(Checkpoint, HoldsEverything) {
  const File file;
  ASSERT_TRUE(save_checkpoint(file.path, "key", state()).ok());
  const auto loaded = load_checkpoint(file.path, "key", *memory);
  ASSERT_TRUE(loaded.ok());
  const Checkpoint& read = **loaded;
  EXPECT_EQ(read.step, 7);
  EXPECT_EQ(read.steps, 20);
  EXPECT_EQ(read.rate_factor, 0.5);
  EXPECT_EQ(read.smooth, 0.25);
  EXPECT_EQ(read.report.curve.size(), 2U);
  EXPECT_EQ(read.report.curve[1].loss, 0.25);
  EXPECT_EQ(read.pending.loss, 0.125);
  EXPECT_EQ(read.values.at("w").data<float>()[2], 3);
  EXPECT_EQ(read.values.at("b").data<float>()[0], -1);
  EXPECT_EQ(read.safe_step, 5);
  EXPECT_EQ(read.safe.at("w").data<float>()[0], 4);
  EXPECT_TRUE(read.averages.empty());
}

TEST(Checkpoint, OfAnotherTrainingIsRefused) {
  const File file;
  ASSERT_TRUE(save_checkpoint(file.path, "key", state()).ok());
  const auto loaded = load_checkpoint(file.path, "other", *memory);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, Code::invalid_argument);
}

TEST(Checkpoint, EveryDamagedByteIsNoticed) {
  const File file;
  ASSERT_TRUE(save_checkpoint(file.path, "key", state()).ok());
  std::string bytes;
  {
    std::ifstream in(file.path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (std::size_t i = 0; i < bytes.size(); i += 13) {
    std::string broken = bytes;
    broken[i] = static_cast<char>(broken[i] ^ 1);
    std::ofstream(file.path, std::ios::binary) << broken;
    const auto loaded = load_checkpoint(file.path, "key", *memory);
    ASSERT_FALSE(loaded.ok()) << "byte " << i;
    EXPECT_EQ(loaded.error().code, Code::malformed);
  }
  for (const std::size_t length : {std::size_t{0}, std::size_t{10}, bytes.size() - 1}) {
    std::ofstream(file.path, std::ios::binary) << bytes.substr(0, length);
    EXPECT_FALSE(load_checkpoint(file.path, "key", *memory).ok()) << length << " bytes";
  }
}

TEST(Checkpoint, NoFileIsNoState) {
  const auto loaded = load_checkpoint("/nonexistent/anybit/state", "key", *memory);
  ASSERT_TRUE(loaded.ok());
  EXPECT_FALSE(loaded->has_value());
}

TEST(Checkpoint, AFullDiskIsAnError) {
  const auto saved = save_checkpoint("/dev/full", "key", state());
  EXPECT_FALSE(saved.ok());
}

}  // namespace
}  // namespace anybit::train
