#include "common/base/free_with.h"

#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace noisefloor {
namespace {

std::vector<int> g_freed;

void Free(const int* number) { g_freed.push_back(*number); }

TEST(FreeWithTest, WhatIsOwnedIsFreedOnce) {
  g_freed.clear();
  int one = 1;
  int two = 2;
  {
    std::unique_ptr<int, FreeWith<Free>> owned(&one);
    EXPECT_TRUE(g_freed.empty());
    owned.reset(&two);
    EXPECT_EQ(g_freed, std::vector{1});
    std::unique_ptr<int, FreeWith<Free>> taken = std::move(owned);
  }
  EXPECT_EQ(g_freed, (std::vector{1, 2}));
}

}  // namespace
}  // namespace noisefloor
