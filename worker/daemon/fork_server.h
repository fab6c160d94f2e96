// A trainer that serves forks (worker/trainer/README.md), seen from the worker: one for each stack
// and set of class variables, which holds the libraries and forks a process for each member.
//
// One thread, which must live as long as the process (see spawn.h): the server and what it forks
// die with it. No call waits but Fork.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"

#include "common/base/status.h"
#include "worker/daemon/spawn.h"

namespace noisefloor {

class ForkServer {
 public:
  // Starts `program` with these variables, pinned to these cores while it loads. From the first
  // call on this process is the parent that processes whose own has ended are given to.
  static absl::StatusOr<std::unique_ptr<ForkServer>> Start(
      const std::vector<std::string>& command,
      const std::map<std::string, std::string>& environment, const std::vector<int>& cores,
      absl::Duration answer_limit = absl::Seconds(10));
  // Ends the server; what it forked lives on.
  ~ForkServer();
  ForkServer(const ForkServer&) = delete;
  ForkServer& operator=(const ForkServer&) = delete;

  // Unavailable while it loads; FailedPrecondition for good, saying why: it has ended, or it
  // refused.
  absl::Status Ready();

  // What Spawn does, but for the arguments: a child of this process with the request's descriptors,
  // on its cores. Variables of the request that the server does not have so are set, too late for
  // what a library reads when it is loaded. Waits for it, but not for longer than
  // the limit between two words. After any failure the server is not ready any more, and there is
  // no child.
  absl::StatusOr<Child> Fork(const SpawnRequest& request);

  // It can never fork: another one would refuse, too.
  bool refused() const { return refused_; }
  pid_t process() const { return child_.pid; }

 private:
  ForkServer(SpawnRequest started, Child child, int socket, absl::Duration answer_limit)
      : program_(started.arguments.at(0)),
        environment_(std::move(started.environment)),
        child_(child),
        socket_(socket),
        answer_limit_(answer_limit) {}

  absl::Status SendRequest(const SpawnRequest& request, int answer);
  absl::StatusOr<pid_t> TakeAnswers(int answer);
  absl::Status Lost(const std::string& why);

  const std::string program_;
  const std::map<std::string, std::string> environment_;
  const Child child_;
  const int socket_;
  const absl::Duration answer_limit_;
  bool loaded_ = false;
  bool refused_ = false;
  absl::Status lost_;
};

}  // namespace noisefloor
