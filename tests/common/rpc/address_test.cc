#include "common/rpc/address.h"

#include "gtest/gtest.h"

namespace noisefloor {
namespace {

std::string Refusal(std::string_view text) { return Message(ParseAddress(text).status()); }

TEST(AddressTest, HostAndPortComeBack) {
  for (const char* text : {"127.0.0.1:7411", "box-1:0", "[::1]:65535", "localhost:1"}) {
    const auto address = ParseAddress(text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(ToText(*address), text);
  }
}

TEST(AddressTest, WrongAddressesSayWhatWasExpected) {
  EXPECT_EQ(Refusal("box"), "address 'box': expected HOST:PORT");
  EXPECT_EQ(Refusal(""), "address '': expected HOST:PORT");
  EXPECT_EQ(Refusal(":80"), "address ':80': expected HOST:PORT");
  EXPECT_EQ(Refusal("http://box:80"),
            "address 'http://box:80': expected [HOST]:PORT for an IPv6 host");
  EXPECT_EQ(Refusal("box:"), "address 'box:': expected a port from 0 to 65535");
  EXPECT_EQ(Refusal("box:65536"), "address 'box:65536': expected a port from 0 to 65535");
  EXPECT_EQ(Refusal("box:-1"), "address 'box:-1': expected a port from 0 to 65535");
  EXPECT_EQ(Refusal("box:80x"), "address 'box:80x': expected a port from 0 to 65535");
  EXPECT_EQ(Refusal("::1:80"), "address '::1:80': expected [HOST]:PORT for an IPv6 host");
}

TEST(AddressTest, OnlyThisMachineIsLoopback) {
  EXPECT_TRUE(IsLoopback({"127.0.0.1", 1}));
  EXPECT_TRUE(IsLoopback({"127.9.9.9", 1}));
  EXPECT_TRUE(IsLoopback({"::1", 1}));
  EXPECT_TRUE(IsLoopback({"localhost", 1}));
  EXPECT_FALSE(IsLoopback({"0.0.0.0", 1}));
  EXPECT_FALSE(IsLoopback({"127.example.org", 1}));
  EXPECT_FALSE(IsLoopback({"10.0.0.1", 1}));
}

}  // namespace
}  // namespace noisefloor
