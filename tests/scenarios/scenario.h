// Runs a scheduler story written as text, and writes down what the scheduler did.
//
// A story is a list of blocks: one command a line, then "----", then what was kept and sent, then
// an empty line. '#' begins a comment. Commands:
//   submit [name=] [seed=] [plans=a,b:BLOCKSxREPLICATES] [hardware=c,d|any] [stacks=]
//          [replicates=] [data=] [request=ID] [resume];   cancel SWEEP;   retry SWEEP
//   join W [slots=] [classes=] [stacks=NAME:FINGERPRINT[:BUILD]] [unit=] [identity=] [name=]
//          [holds=]
//   beat W [holds=LEASE:STEP/STEPS,...];   break W (the stream);   drain W
//   hello W lease= identity=;   records W lease= batch= [count=] [value=] [epoch=] [metric=]
//   finish W lease= done|diverged|failed [cause=] [message=] [batches=] [top1=] [artifacts=]
//   storage fails|recovers;   advance SECONDS [alive=W,...];   restart;   explain MEMBER
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace noisefloor::test {

// The story with the answers that the scheduler gave in the place of those it had. Lines that
// begin with "problem" tell of a broken invariant, of a difference between the scheduler and the
// store, or of a command that nobody knows.
std::string Replay(std::string_view story);

}  // namespace noisefloor::test
