#include "common/rpc/proxy.h"

#include "gtest/gtest.h"

namespace noisefloor {
namespace {

// "" when the way to `server` is direct.
std::string Way(const std::string& server, const std::string& value, const std::string& except) {
  const Proxy proxy = ProxyTo(ParseAddress(server).value(), {"https_proxy", value, except});
  return proxy.is_used ? ToUri(proxy) : "";
}

TEST(ProxyTest, OneThatIsNamedStandsOnTheWay) {
  EXPECT_EQ(Way("box:7077", "", ""), "");
  EXPECT_EQ(Way("box:7077", "http://proxy:3128", ""), "http://proxy:3128");
  EXPECT_EQ(Way("box:7077", "proxy:3128", ""), "http://proxy:3128");
  EXPECT_EQ(Way("box:7077", "http://proxy", ""), "http://proxy:80");
  EXPECT_EQ(Way("box:7077", "http://proxy:3128/", ""), "http://proxy:3128");
  EXPECT_EQ(Way("box:7077", "http://a:b@c@proxy:3128", ""), "http://a:b@c@proxy:3128");
  EXPECT_EQ(Way("box:7077", "http://[2001:db8::1]:3128", ""), "http://[2001:db8::1]:3128");
  EXPECT_EQ(Way("box:7077", "https://proxy:3128", ""), "") << "gRPC has no TLS to proxies";
  EXPECT_EQ(Way("box:7077", "http://", ""), "");
}

TEST(ProxyTest, LoopbackIsReachedDirectly) {
  for (const char* server : {"localhost:1", "127.0.0.1:1", "127.8.0.1:1", "[::1]:1"}) {
    EXPECT_EQ(Way(server, "http://proxy:3128", ""), "") << server;
  }
  EXPECT_NE(Way("127.example.org:1", "http://proxy:3128", ""), "");
}

TEST(ProxyTest, AndSoIsWhatIsExcepted) {
  const std::string except = "a.org, .example.org,10.1.0.0/16,2001:db8::/32,192.0.2.7,*.lan,,x/y";
  for (const char* direct : {"a.org:1", "x.a.org:1", "b.example.org:1", "10.1.2.3:1", "192.0.2.7:1",
                             "[2001:db8:1::2]:1", "box.lan:1"}) {
    EXPECT_EQ(Way(direct, "http://proxy:3128", except), "") << direct;
  }
  for (const char* other : {"b.org:1", "example.org:1", "10.2.0.1:1", "192.0.2.8:1", "lan:1",
                            "[2001:db9::1]:1", "10.1.example.net:1"}) {
    EXPECT_NE(Way(other, "http://proxy:3128", except), "") << other;
  }
  EXPECT_EQ(Way("10.2.0.1:1", "http://proxy:3128", "*"), "");
}

// Its first address and its last, and those beside them.
TEST(ProxyTest, ANetworkMayEndWithinAByte) {
  for (const char* direct : {"172.16.0.0:1", "172.17.0.1:1", "172.31.255.255:1"}) {
    EXPECT_EQ(Way(direct, "http://proxy:3128", "172.16.0.0/12"), "") << direct;
  }
  for (const char* other : {"172.15.255.255:1", "172.32.0.0:1"}) {
    EXPECT_NE(Way(other, "http://proxy:3128", "172.16.0.0/12"), "") << other;
  }
}

TEST(ProxyTest, ItsPasswordIsNotTold) {
  const Proxy proxy =
      ProxyTo(ParseAddress("box:1").value(), {"grpc_proxy", "http://ada:pass@proxy:3128", ""});
  EXPECT_EQ(Described(proxy), "through the proxy proxy:3128 of $grpc_proxy");
  EXPECT_EQ(proxy.credentials, "ada:pass");
}

}  // namespace
}  // namespace noisefloor
