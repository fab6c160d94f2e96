// Everything that moves while a member trains, to a checkpoint and back.
//
// Not in it, because it does not move: the streams of draws, which are functions of seed, step and
// place (worker/trainer/noise); the learning rate, a function of the step; a poke, which is in the
// weights once its step is past; what a replica keeps of a batch, which the next one overwrites;
// the low copies of weights that a pass makes for itself: those kept here are what an optimiser
// moves, float or double.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "common/files/safetensors.h"
#include "worker/trainer/checkpoint/checkpoint.h"
#include "worker/trainer/torch/model/model.h"
#include "worker/trainer/torch/optim/update.h"
#include "worker/trainer/torch/step/batches.h"
#include "worker/trainer/torch/step/journal.h"
#include "worker/trainer/torch/step/reporter.h"
#include "worker/trainer/torch/step/results.h"
#include "worker/trainer/torch/step/shards.h"
#include "worker/trainer/torch/step/train_report.h"

namespace noisefloor::trainer {

// Borrowed. Between two steps.
struct Moving {
  const Model& model;  // Its tensors share storage with those that train.
  Update& update;      // Optimiser, loss scale, average: all by Export and Import.
  TrainingBatches& batches;
  GradientShards& shards;
  Journal& journal;
  Results& results;
  Reporter& reporter;
  TrainReport& report;
  int64_t step_count = 0;  // Of the whole training.
};

// All tensors, under names that tell whose they are ("parameters/conv1.weight"). They share
// storage with what trains, but for "journal/sum", which is a copy.
std::vector<NamedTensor> TensorsOf(const Moving& moving);

// A file's content with a place for each of these tensors, in their order.
absl::StatusOr<SafetensorsContent> ContentFor(const std::vector<NamedTensor>& tensors);
// Copies their values into their places, on the host, in logical order.
void CopyTo(SafetensorsContent& content, const std::vector<NamedTensor>& tensors);

// The rest: step, facts, what was told; without tensors.
Checkpoint CheckpointOf(const Moving& moving);

// InvalidArgument, naming what differs, unless all of `checkpoint` fits what was made for this
// training: names, shapes and types of the tensors, counters, the hashes of the initial weights and
// of the first batches, which every attempt takes anew. Changes nothing.
absl::Status CheckFits(const Checkpoint& checkpoint, const Moving& moving);
// Puts a checkpoint that fits into what was made. Tells again what was told.
void Restore(const Checkpoint& checkpoint, Moving& moving);

}  // namespace noisefloor::trainer
