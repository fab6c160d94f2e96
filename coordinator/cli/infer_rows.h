// What an inference says of its subjects: train-on x infer-on, a row for each of its members.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/output.h"
#include "noisefloor/v1/member.pb.h"

namespace noisefloor::cli {

struct InferRow {
  v1::Member member;   // With its hashes.
  v1::Member subject;  // Likewise; empty: it is not there any more.
};

// "yes": the predictions are the subject's own at the end, to the bit; "no"; "": one of both has no
// predictions, or the weights are not the subject's.
std::string SameLogits(const InferRow& row);

// Of the members of an inference, as they are listed. Reads their subjects.
absl::StatusOr<std::vector<InferRow>> InferRows(Connection& connection,
                                                const std::vector<v1::Member>& members);

// Header: member,subject,weights_file,train_hardware,infer_hardware,train_stack,infer_stack,plan,
// block,state,same_logits,top1,top5,loss,train_top1,train_top5,train_loss,weights_sha256,
// logits_sha256,train_logits_sha256. Numbers with every digit; what there is not is empty.
std::string InferCsv(const std::vector<InferRow>& rows);

// The same as JSON, for one row.
Json InferJson(const InferRow& row);

// A line for each pair of classes: members, how many have equal predictions, and the largest
// difference in top-1.
struct InferPair {
  std::string train_hardware;
  std::string infer_hardware;
  size_t members = 0;
  size_t done = 0;       // That have predictions.
  size_t same = 0;       // With the subject's own,
  size_t different = 0;  // and with others.
  // Of those that are done, against their subjects; none: nobody knows of a top-1 of both.
  std::optional<double> largest_top1_difference;
};
std::vector<InferPair> PairClasses(const std::vector<InferRow>& rows);

}  // namespace noisefloor::cli
