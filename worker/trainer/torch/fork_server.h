// A process that has loaded its libraries forks one fresh process for each member, instead of each
// member's loading them anew: worker/trainer/README.md has the conversation with the worker.
#pragma once

#include "common/base/status.h"

namespace noisefloor::trainer {

// Answers requests on `socket` (of packets, SOCK_SEQPACKET) until its other end is closed.
//
// Returns false then, in this process; and true in every process that was forked, which from there
// on is like one that was started afresh: a child of the worker, leader of its own group, ended by
// the worker's death, pinned, with its own descriptors 0 to 3 and without the socket. A request is
// refused, and answered so, while this process has another thread: a thread's locks would be
// copied, locked for ever. The process must not have handlers of signals or text in stdio.
//
// Two forks make one member: the process in between ends at once, so that the worker (a
// "subreaper") becomes the new one's parent and learns of its end from the kernel, whatever
// becomes of this process. Fails when the socket does.
absl::StatusOr<bool> ServeForks(int socket);

// The threads of this process.
int CountThreads();

}  // namespace noisefloor::trainer
