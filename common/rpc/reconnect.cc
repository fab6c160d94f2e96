#include "common/rpc/reconnect.h"

#include <chrono>

namespace noisefloor {

namespace {

constexpr absl::Duration kLook = absl::Milliseconds(50);
constexpr int kLooksPerAsk = 2;
constexpr int kLooksPerTry = 5;

}  // namespace

bool WaitUntilConnectedAgain(grpc::Channel& channel, absl::Duration patience,
                             const std::function<bool()>& stopped) {
  const int64_t most = patience / kLook;
  for (int64_t look = 0; look < most; ++look) {
    if (look % kLooksPerAsk == 0 && stopped()) return false;
    if (look % kLooksPerTry == 0) grpc::experimental::ChannelResetConnectionBackoff(&channel);
    // It is this call that moves the connection on.
    const auto deadline = std::chrono::system_clock::now() + absl::ToChronoMilliseconds(kLook);
    if (channel.WaitForConnected(deadline)) return true;
  }
  return false;
}

}  // namespace noisefloor
