// A whole coordinator with its page on a free port of loopback, and browsers of it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

#include "httplib.h"
#include "tests/coordinator/http/raw_client.h"
#include "tests/coordinator/rpc/coordinator_fixture.h"

namespace noisefloor::test {

using httplib::Headers;
using Json = nlohmann::json;

// "http://127.0.0.1:7078/?token=abc" in parts.
struct PageUrl {
  std::string scheme;
  Address address;
  std::string token;  // Empty: it has none.
};

inline PageUrl ParsePageUrl(const std::string& url) {
  PageUrl parts;
  const size_t host = url.find("://") + 3;
  const size_t path = url.find('/', host);
  parts.scheme = url.substr(0, host - 3);
  const auto address = ParseAddress(url.substr(host, path - host));
  EXPECT_TRUE(address.ok()) << url;
  if (address.ok()) parts.address = *address;
  const std::string rest = url.substr(path);
  constexpr std::string_view kToken = "/?token=";
  if (rest.starts_with(kToken)) {
    parts.token = rest.substr(kToken.size());
  } else {
    EXPECT_EQ(rest, "/") << url;
  }
  return parts;
}

// {"error": {"code": ..., "message": ...}}, and nothing else.
inline std::string ErrorCode(const std::string& body) {
  const Json json = Json::parse(body, nullptr, false);
  if (json.is_discarded() || json.size() != 1 || !json.contains("error")) return "not an error";
  const Json& error = json["error"];
  return error.size() == 2 && error.contains("message") ? error.value("code", "") : "not an error";
}
inline std::string ErrorMessage(const std::string& body) {
  return ErrorCode(body) == "not an error" ? "" : Json::parse(body)["error"]["message"];
}

inline Headers Bearer(const std::string& token) { return {{"Authorization", "Bearer " + token}}; }

class LiveTest : public CoordinatorTest {
 protected:
  LiveTest() { StartWithPage(); }

  void StartWithPage() {
    coordinator_.reset();
    auto started = Coordinator::Start({.home = home_.path(),
                                       .listen = "127.0.0.1:0",
                                       .page = "127.0.0.1:0",
                                       .lease_ttl = absl::Minutes(2)});
    ASSERT_TRUE(started.ok()) << started.status();
    coordinator_ = *std::move(started);
    channel_ = MakeChannel(*ParseAddress(coordinator_->address()));
    people_ = v1::CoordinatorService::NewStub(channel_);
    workers_ = v1::WorkerService::NewStub(channel_);
    page_ = ParsePageUrl(coordinator_->page_url());
    EXPECT_EQ(page_.scheme, "http");
  }

  struct Got {
    int status = 0;  // 0: nothing whole.
    Headers headers;
    std::string body;
    std::string Header(const std::string& name) const {
      const auto found = headers.find(name);
      return found == headers.end() ? "" : found->second;
    }
  };
  // Not followed anywhere.
  Got GetWith(const std::string& target, const Headers& headers) const {
    httplib::Client client(page_.address.host, page_.address.port);
    client.set_read_timeout(120);
    client.set_url_encode(false);
    const httplib::Result answer = client.Get(target, headers);
    if (!answer) return {};
    return {answer->status, answer->headers, answer->body};
  }
  Got Get(const std::string& target) const { return GetWith(target, Bearer(page_.token)); }
  // With that Host header, or none.
  RawAnswer GetAt(const std::string& host, const std::string& target, const std::string& more) {
    RawClient client(page_.address.port);
    client.Send("GET " + target + " HTTP/1.1\r\n" + (host.empty() ? "" : "Host: " + host + "\r\n") +
                more + "Connection: close\r\n\r\n");
    return client.ReadAnswer();
  }
  std::string CookieName() const { return "noisefloor-" + std::to_string(page_.address.port); }

  PageUrl page_;
};

// One server-sent event.
struct Event {
  std::string id;
  std::string name = "message";
  std::string data;
};

// A stream of events that is open.
class EventReader {
 public:
  // HTTP/1.0: the body comes as it is.
  EventReader(const PageUrl& page, const std::string& target, const std::string& last_id = "")
      : client_(page.address.port) {
    client_.Send("GET " + target + " HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer " +
                 page.token + "\r\n" +
                 (last_id.empty() ? "" : "Last-Event-ID: " + last_id + "\r\n") + "\r\n");
    head_ = client_.ReadHead();
  }
  const RawAnswer& head() const { return head_; }
  // The next; with an empty name when the stream has ended.
  Event Next() {
    Event event;
    std::string text = client_.ReadTo("\n\n");
    if (!text.ends_with("\n\n")) {
      EXPECT_EQ(text, "") << "half an event";
      return {.name = ""};
    }
    for (size_t end = 0; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
      const std::string line = text.substr(0, end);
      const size_t colon = line.find(": ");
      if (colon == 0 || line.empty()) continue;  // Of ": still here".
      const std::string field = line.substr(0, colon);
      const std::string value = line.substr(colon + 2);
      if (field == "id") {
        event.id = value;
      } else if (field == "event") {
        event.name = value;
      } else {
        EXPECT_EQ(field, "data");
        event.data += value;
      }
    }
    return event;
  }

 private:
  RawClient client_;
  RawAnswer head_;
};

}  // namespace noisefloor::test
