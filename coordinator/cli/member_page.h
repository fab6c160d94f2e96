// One member whole, for people.
#pragma once

#include "coordinator/cli/command.h"
#include "noisefloor/v1/coordinator_api.pb.h"

namespace noisefloor::cli {

// What it is, what came of it, its sources with their seeds, its hashes, files and attempts: to
// context.out, each part a paragraph.
void PrintMember(const Context& context, const v1::GetMemberResponse& answer);

// "waiting"; "running 40 %"; "failed: out_of_memory".
std::string StateText(const v1::Member& member);
// "train.epochs=3 train.batch_size=64"; "-" when no axis gives it any.
std::string AxesText(const v1::Member& member);

}  // namespace noisefloor::cli
