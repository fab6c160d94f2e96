// What a worker and a trainer that serves forks say to each other; worker/trainer/README.md tells
// the conversation. Values and JSON texts, one a message.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace noisefloor {

inline constexpr int kForkProtocolVersion = 1;
// With a request come the new process's descriptors 0 to 3 (1 and 2 are one) and the one that
// takes the answer: input, output, events, answer.
inline constexpr int kForkDescriptors = 4;
inline constexpr size_t kMostForkBytes = 32 << 10;

// Worker to server: one more trainer, please.
struct ForkRequest {
  int64_t parent = 0;      // The worker's process: the new one's parent, whose death ends it.
  std::vector<int> cores;  // To be pinned to; empty: wherever the server may run.
  // Of the environment: set in the new process, beside the server's own.
  std::map<std::string, std::string> variables = {};
  friend bool operator==(const ForkRequest&, const ForkRequest&) = default;
};

// Server to worker, when it is ready; then, for each request, the number of the new process and,
// from that process, that it is as asked. A refusal stands in the place of any of them.
struct ForkAnswer {
  enum class Kind : uint8_t { kReady, kForked, kStarted, kRefused };
  Kind kind = Kind::kRefused;
  int64_t process = 0;  // Of kForked.
  std::string refusal;  // Of kRefused: why.
  friend bool operator==(const ForkAnswer&, const ForkAnswer&) = default;
};

// InvalidArgument for what is not exactly one of the above.
std::string ForkRequestToJson(const ForkRequest& request);
absl::StatusOr<ForkRequest> ForkRequestFromJson(std::string_view text);
std::string ForkAnswerToJson(const ForkAnswer& answer);
absl::StatusOr<ForkAnswer> ForkAnswerFromJson(std::string_view text);

}  // namespace noisefloor
