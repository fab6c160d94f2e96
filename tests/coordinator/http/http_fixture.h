// A server on a free port of loopback, and bodies that come when a test says so.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/mutex.h"
#include "coordinator/http/http_server.h"
#include "tests/coordinator/http/raw_client.h"

namespace noisefloor::http {

using test::RawAnswer;
using test::RawClient;
using Reply = std::function<void(Answer)>;

// Somebody else's thread.
template <typename Do>
void OnAThread(Do act) {
  std::thread(std::move(act)).join();
}

// Waits until `is_so`, at most as long as against hanging.
template <typename Condition>
bool WaitUntil(CondVar& changed, Mutex& mutex, Condition is_so) {
  const MutexLock lock(mutex);
  while (!is_so()) {
    if (!changed.WaitFor(mutex, absl::Minutes(1))) return is_so();
  }
  return true;
}

// Thread-safe.
class ScriptedPieces final : public Pieces {
 public:
  void Next(Then then) override {
    absl::StatusOr<std::string> piece;
    {
      const MutexLock lock(mutex_);
      if (then_) misused_ += "asked twice; ";
      if (cancelled_) misused_ += "asked after Cancel; ";
      if (ended_) misused_ += "asked after the end; ";
      ++asked_;
      changed_.NotifyAll();
      if (cancelled_) {
        piece = absl::CancelledError();
      } else if (!said_.empty()) {
        piece = std::move(said_.front());
        said_.pop_front();
      } else {
        then_ = std::move(then);
        return;
      }
      ended_ = !piece.ok() || piece->empty();
    }
    then(std::move(piece));
  }
  void Cancel() override {
    const MutexLock lock(mutex_);
    cancelled_ = true;
    changed_.NotifyAll();
  }

  // From another thread than whoever asks.
  void Say(absl::StatusOr<std::string> piece) {
    Then then;
    {
      const MutexLock lock(mutex_);
      if (!then_) return said_.push_back(std::move(piece));
      then = std::exchange(then_, nullptr);
      ended_ = !piece.ok() || piece->empty();
    }
    then(std::move(piece));
  }
  bool AwaitCancel() {
    return WaitUntil(changed_, mutex_,
                     [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return cancelled_; });
  }
  // Or cancelled.
  bool AwaitAsked(int times) {
    return WaitUntil(changed_, mutex_, [this, times]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return cancelled_ || asked_ >= times;
    });
  }
  std::string misused() const {
    const MutexLock lock(mutex_);
    return misused_;
  }
  bool cancelled() const {
    const MutexLock lock(mutex_);
    return cancelled_;
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  Then then_ ABSL_GUARDED_BY(mutex_);
  std::deque<absl::StatusOr<std::string>> said_ ABSL_GUARDED_BY(mutex_);
  std::string misused_ ABSL_GUARDED_BY(mutex_);
  int asked_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

// Of requests that a test answers later. Thread-safe.
class KeptReplies {
 public:
  Handler Keep() {
    return [this](const Request&, Reply then) {
      const MutexLock lock(mutex_);
      kept_.push_back(std::move(then));
      changed_.NotifyAll();
    };
  }
  // The oldest, once there is one.
  Reply Take() {
    if (!WaitUntil(changed_, mutex_,
                   [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !kept_.empty(); })) {
      ADD_FAILURE() << "no request comes";
      return [](const Answer&) {};
    }
    const MutexLock lock(mutex_);
    Reply taken = std::move(kept_.front());
    kept_.pop_front();
    return taken;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::deque<Reply> kept_ ABSL_GUARDED_BY(mutex_);
};

class HttpTest : public testing::Test {
 protected:
  // The path and the query.
  static Answer Told(const Request& request) {
    std::string text = request.path;
    for (const auto& [name, value] : request.query) text += " " + name + "=" + value;
    return {.body = text};
  }
  static void Tell(const Request& request, const Reply& then) { then(Told(request)); }

  void Start(ServerSettings settings) {
    if (settings.host.empty()) settings.host = "127.0.0.1";
    if (!settings.handler) settings.handler = Tell;
    auto started = HttpServer::Start(std::move(settings));
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
  }
  // Every request is answered with these pieces.
  void StartWith(std::shared_ptr<Pieces> pieces, std::string idle = "",
                 absl::Duration after = absl::Seconds(15)) {
    Start({.handler =
               [pieces, idle](const Request&, const Reply& then) {
                 then({.type = "text/x-pieces", .pieces = pieces, .idle = idle});
               },
           .idle = after});
  }
  uint16_t port() const { return server_->port(); }

  std::unique_ptr<HttpServer> server_;
};

}  // namespace noisefloor::http
