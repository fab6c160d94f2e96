#include "coordinator/query/reader_pool.h"

#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

#include "coordinator/store/database.h"
#include "coordinator/store/store.h"
#include "tests/coordinator/store/sample_writes.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor::query {
namespace {

class ReaderPoolTest : public testing::Test {
 protected:
  ReaderPoolTest() {
    auto store = SqliteStore::Open(home_.path());
    EXPECT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    pool_.emplace(DatabasePath(home_.path()));
  }

  // Two events, in one transaction.
  void KeepTwo(int64_t number) {
    const auto kept = store_->Apply(std::vector<scheduler::Write>{
        scheduler::AppendEvent{
            {}, {}, "a", "", sample::At(number), EventId{static_cast<uint64_t>(2 * number + 1)}},
        scheduler::AppendEvent{
            {}, {}, "b", "", sample::At(number), EventId{static_cast<uint64_t>(2 * number + 2)}}});
    EXPECT_TRUE(kept.ok()) << kept;
  }
  static int64_t Count(Reader& reader) {
    return reader.database().execAndGet("SELECT count(*) FROM event").getInt64();
  }

  TempHome home_;
  std::unique_ptr<Store> store_;
  std::optional<ReaderPool> pool_;
};

TEST_F(ReaderPoolTest, AReaderSeesOneMomentHoweverLongItReads) {
  auto reader = pool_->Borrow();
  ASSERT_TRUE(reader.ok()) << reader.status();
  const int64_t before = Count(*reader);

  KeepTwo(1);

  EXPECT_EQ(Count(*reader), before);
  auto other = pool_->Borrow();
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(Count(*other), before + 2);
}

// How often a reader saw less than before, or half of a transaction.
int WrongCounts(ReaderPool& pool, int reads) {
  int wrong = 0;
  int64_t last = 0;
  for (int i = 0; i < reads; ++i) {
    auto reader = pool.Borrow();
    if (!reader.ok()) return -1;
    const int64_t now = reader->database().execAndGet("SELECT count(*) FROM event").getInt64();
    wrong += now < last || now % 2 != 0;
    last = now;
  }
  return wrong;
}

TEST_F(ReaderPoolTest, ReadersBesideAWriterSeeWholeTransactions) {
  constexpr int kReaders = 3;
  std::latch ready(kReaders + 1);
  std::vector<int> wrong(kReaders, -1);
  std::vector<std::thread> readers;
  for (int i = 0; i < kReaders; ++i) {
    readers.emplace_back([&, i] {
      ready.arrive_and_wait();
      wrong[static_cast<size_t>(i)] = WrongCounts(*pool_, 200);
    });
  }
  ready.arrive_and_wait();
  for (int i = 0; i < 30; ++i) KeepTwo(i);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, std::vector<int>(kReaders, 0));
}

}  // namespace
}  // namespace noisefloor::query
