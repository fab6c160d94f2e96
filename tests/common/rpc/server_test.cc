#include "common/rpc/server.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/rpc/channel.h"
#include "common/rpc/status.h"
#include "noisefloor/v1/coordinator_api.grpc.pb.h"

namespace noisefloor {
namespace {

class VersionService final : public v1::CoordinatorService::Service {
  grpc::Status GetVersion(grpc::ServerContext*, const v1::GetVersionRequest*,
                          v1::GetVersionResponse* response) override {
    response->set_version("1.2.3");
    return grpc::Status::OK;
  }
};

absl::StatusOr<std::string> VersionAt(const Address& address) {
  const auto channel = MakeChannel(address);
  const auto stub = v1::CoordinatorService::NewStub(channel);
  grpc::ClientContext context;
  SetDeadline(context, absl::Seconds(30));
  v1::GetVersionResponse response;
  const grpc::Status status = stub->GetVersion(&context, {}, &response);
  if (!status.ok()) return FromGrpc(status);
  return response.version();
}

TEST(RpcServerTest, AnswersOnAFreePort) {
  VersionService service;
  auto server = RpcServer::Start({.listen = {"127.0.0.1", 0}}, {&service});
  ASSERT_TRUE(server.ok()) << server.status();

  const auto version = VersionAt((*server)->address());

  ASSERT_TRUE(version.ok()) << version.status();
  EXPECT_EQ(*version, "1.2.3");
}

TEST(RpcServerTest, AMethodThatIsNotThereIsUnimplemented) {
  VersionService service;
  auto server = RpcServer::Start({.listen = {"127.0.0.1", 0}}, {&service});
  ASSERT_TRUE(server.ok());
  const auto stub = v1::CoordinatorService::NewStub(MakeChannel((*server)->address()));
  grpc::ClientContext context;
  SetDeadline(context, absl::Seconds(30));
  v1::GetSweepResponse response;

  const absl::Status status = FromGrpc(stub->GetSweep(&context, {}, &response));

  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
}

TEST(RpcServerTest, OffLoopbackThereIsNoPlainText) {
  VersionService service;
  const auto server = RpcServer::Start({.listen = {"0.0.0.0", 0}}, {&service});
  EXPECT_EQ(Message(server.status()),
            "refusing to listen on 0.0.0.0:0: everybody who reaches it could submit and read; "
            "expected a loopback address, or TLS and tokens, which `noisefloor access init` makes");
}

TEST(RpcServerTest, ATakenPortIsRefused) {
  VersionService service;
  auto first = RpcServer::Start({.listen = {"127.0.0.1", 0}}, {&service});
  ASSERT_TRUE(first.ok());

  const auto second = RpcServer::Start({.listen = (*first)->address()}, {&service});

  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Message(second.status()), "cannot listen on " + ToText((*first)->address()) +
                                          ": another program has the port; choose another one");
}

TEST(RpcServerTest, AnAddressOfNobodyIsNamed) {
  VersionService service;
  // The file of a certificate is looked at when a connection comes.
  const auto foreign =
      RpcServer::Start({.listen = {"192.0.2.1", 1}, .key_and_certificate = "/none"}, {&service});
  EXPECT_EQ(Message(foreign.status()),
            "cannot listen on 192.0.2.1:1: this machine has no such address");
}

TEST(RpcServerTest, AHostThatDoesNotResolveIsNamed) {
  const Address nowhere = {"no-such-host.invalid", 1};
  EXPECT_THAT(
      Message(WaitUntilConnected(*MakeChannel(nowhere), nowhere, absl::Milliseconds(50))),
      testing::StartsWith("no coordinator answers at no-such-host.invalid:1: the name does not "
                          "resolve: "));
}

// So many bytes; fewer at the end.
std::string ReadBytes(int socket, size_t count) {
  std::string bytes(count, '\0');
  size_t got = 0;
  while (got < count) {
    const ssize_t more = recv(socket, bytes.data() + got, count - got, 0);
    if (more <= 0) break;
    got += static_cast<size_t>(more);
  }
  bytes.resize(got);
  return bytes;
}

uint32_t BigEndian(std::string_view bytes) {
  uint32_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

// What the server says of its settings to whoever begins to speak HTTP/2, by their numbers.
std::map<uint32_t, uint32_t> Http2Settings(uint16_t port) {
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  std::string hello = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  hello += std::string("\0\0\0\4\0\0\0\0\0", 9);  // Settings, none of them.
  EXPECT_EQ(send(client, hello.data(), hello.size(), 0), static_cast<ssize_t>(hello.size()));
  const std::string head = ReadBytes(client, 9);
  std::map<uint32_t, uint32_t> settings;
  EXPECT_EQ(head.size(), 9u);
  EXPECT_EQ(BigEndian(head.substr(3, 1)), 4u) << "settings come first";
  const std::string payload = ReadBytes(client, BigEndian(head.substr(0, 3)));
  for (size_t i = 0; i + 6 <= payload.size(); i += 6) {
    settings[BigEndian(payload.substr(i, 2))] = BigEndian(payload.substr(i + 2, 4));
  }
  close(client);
  return settings;
}

TEST(RpcServerTest, AConnectionHasABoundedNumberOfCalls) {
  constexpr uint32_t kMostConcurrentStreams = 3;  // Its number in RFC 9113.
  VersionService service;
  const auto server = RpcServer::Start({.listen = {"127.0.0.1", 0}}, {&service});
  ASSERT_TRUE(server.ok()) << server.status();
  const auto settings = Http2Settings((*server)->address().port);
  ASSERT_TRUE(settings.contains(kMostConcurrentStreams));
  EXPECT_EQ(settings.at(kMostConcurrentStreams), 256u);
}

TEST(RpcServerTest, AServerThatHasGoneIsUnavailable) {
  VersionService service;
  auto server = RpcServer::Start({.listen = {"127.0.0.1", 0}}, {&service});
  ASSERT_TRUE(server.ok());
  const Address address = (*server)->address();
  server->reset();

  EXPECT_EQ(VersionAt(address).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Message(WaitUntilConnected(*MakeChannel(address), address, absl::Milliseconds(50))),
            "no coordinator answers at " + ToText(address) + " within 50ms");
}

}  // namespace
}  // namespace noisefloor
