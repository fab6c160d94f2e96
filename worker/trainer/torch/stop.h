// SIGTERM asks a trainer to stop at its next step.
#pragma once

namespace noisefloor::trainer {

// From now on SIGTERM and SIGINT are noted instead of ending the process, system calls that wait
// return early, and a reader that closes its pipe does not end the process either. Call once.
void WatchForStop();

// Any thread.
bool StopAsked();

}  // namespace noisefloor::trainer
