// SIGTERM asks a trainer to stop at its next step.
#pragma once

namespace noisefloor::trainer {

// From now on SIGTERM and SIGINT are noted instead of ending the process, and a reader that closes
// its pipe does not end the process either. Call once.
void WatchForStop();

// Any thread.
bool StopAsked();

// Waits until `file` can be read (or is at its end) or a stop is asked for, whichever thread the
// signal meets and whenever it comes. False: a stop. Any thread.
bool WaitUnlessStopped(int file);

}  // namespace noisefloor::trainer
