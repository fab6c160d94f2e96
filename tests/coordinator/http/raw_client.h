// A client of HTTP that sends what a test tells it to, byte by byte, and reads what comes.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "gtest/gtest.h"

namespace noisefloor::test {

struct RawAnswer {
  int status = 0;  // 0: none came.
  std::string version;
  std::map<std::string, std::string> headers;  // Names in lower case.
  std::string body;
  std::vector<std::string> chunks;  // Of a chunked body, without the last.
  bool whole = false;               // To its last byte or chunk.

  std::string Header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

// One connection to loopback. One thread.
class RawClient {
 public:
  explicit RawClient(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval patience{.tv_sec = 60, .tv_usec = 0};  // Against hanging.
    EXPECT_EQ(setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ~RawClient() { Leave(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // Of a connection that the other side has closed it may be lost.
  void Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  void Get(std::string_view target, std::string_view more = "") {
    Send("GET " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(more) +
         "\r\n");
  }
  void StopSending() { EXPECT_EQ(shutdown(socket_, SHUT_WR), 0); }
  void Leave() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
  }

  // All that comes up to `mark`, and it; to the end when there is none.
  std::string ReadTo(std::string_view mark) {
    size_t at = 0;
    while ((at = waiting_.find(mark)) == std::string::npos) {
      if (!More()) return Take(waiting_.size());
    }
    return Take(at + mark.size());
  }
  std::string ReadToEnd() {
    while (More()) {
    }
    return Take(waiting_.size());
  }
  // `head`: to a HEAD, without a body.
  RawAnswer ReadAnswer(bool head = false) {
    RawAnswer answer = ReadHead();
    if (answer.status == 0) return answer;
    if (head) {
      answer.whole = true;
    } else if (answer.Header("transfer-encoding") == "chunked") {
      while (ReadChunk(answer)) {
      }
    } else if (answer.headers.contains("content-length")) {
      const size_t size = std::stoul(answer.headers["content-length"]);
      while (waiting_.size() < size && More()) {
      }
      answer.whole = waiting_.size() >= size;
      answer.body = Take(std::min(size, waiting_.size()));
    } else {
      answer.body = ReadToEnd();
      answer.whole = !was_reset_;
    }
    return answer;
  }
  RawAnswer ReadHead() {
    RawAnswer answer;
    const std::string head = ReadTo("\r\n\r\n");
    if (!head.ends_with("\r\n\r\n") || !head.starts_with("HTTP/1.")) return answer;
    answer.version = head.substr(0, 8);
    answer.status = std::atoi(head.c_str() + 9);
    size_t line = head.find("\r\n") + 2;
    for (size_t end = 0; (end = head.find("\r\n", line)) != line; line = end + 2) {
      const size_t colon = head.find(": ", line);
      answer.headers[absl::AsciiStrToLower(head.substr(line, colon - line))] =
          head.substr(colon + 2, end - colon - 2);
    }
    return answer;
  }
  // Whether there is one more.
  bool ReadChunk(RawAnswer& answer) {
    const std::string line = ReadTo("\r\n");
    if (!line.ends_with("\r\n")) return false;
    const size_t size = std::stoul(line, nullptr, 16);
    while (waiting_.size() < size + 2 && More()) {
    }
    if (waiting_.size() < size + 2) return false;
    const std::string chunk = Take(size);
    EXPECT_EQ(Take(2), "\r\n");
    if (size == 0) {
      answer.whole = true;
      return false;
    }
    answer.body += chunk;
    answer.chunks.push_back(chunk);
    return true;
  }
  int socket() const { return socket_; }
  // Whether the other side has closed it, and sent nothing before.
  bool IsClosed() { return ReadToEnd().empty(); }
  // Whether it was closed with bytes unread, which may lose an answer.
  bool was_reset() const { return was_reset_; }

 private:
  bool More() {
    char bytes[4096];
    const ssize_t read = recv(socket_, bytes, sizeof(bytes), 0);
    if (read > 0) waiting_.append(bytes, static_cast<size_t>(read));
    if (read < 0 && errno == ECONNRESET) was_reset_ = true;
    if (read < 0 && errno != ECONNRESET) ADD_FAILURE() << "nothing comes, and no end";
    return read > 0;
  }
  std::string Take(size_t count) {
    const std::string taken = waiting_.substr(0, count);
    waiting_.erase(0, count);
    return taken;
  }

  int socket_;
  std::string waiting_;
  bool was_reset_ = false;
};

}  // namespace noisefloor::test
