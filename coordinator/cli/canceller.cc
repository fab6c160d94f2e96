#include "coordinator/cli/canceller.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "common/base/check.h"

namespace noisefloor::cli {

Canceller::Canceller(grpc::ClientContext& call, int first, int second)
    : done_(eventfd(0, EFD_CLOEXEC)), thread_([this, &call, first, second] {
        pollfd files[3] = {{done_, POLLIN, 0}, {first, POLLIN, 0}, {second, POLLIN, 0}};
        while (poll(files, 3, -1) < 0) {
        }
        if (files[0].revents == 0) call.TryCancel();
      }) {
  NF_CHECK(done_ >= 0);
}

Canceller::~Canceller() {
  const uint64_t one = 1;
  (void)!write(done_, &one, sizeof one);
  thread_.join();
  close(done_);
}

}  // namespace noisefloor::cli
