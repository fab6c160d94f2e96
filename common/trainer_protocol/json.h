// The trainer protocol's JSON: the request a trainer reads on standard input and the events it
// writes. Version 1; described in worker/trainer/README.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/status.h"
#include "common/trainer_protocol/specification.h"

namespace noisefloor {

inline constexpr int kTrainerProtocolVersion = 1;

// Canonical: keys sorted, no spaces, numbers in shortest exact form. The hash of a specification
// is the SHA-256 of exactly this text, and exactly this text travels to the trainer.
std::string SpecificationToJson(const Specification& specification);
// Refuses unknown keys, missing keys, wrong kinds and values out of limits, naming the path.
absl::StatusOr<Specification> SpecificationFromJson(std::string_view json);

// What a trainer reads: one JSON object on standard input, up to end of file or a newline.
struct TrainerRequest {
  std::string member;  // "s3c12r4"
  uint32_t attempt = 1;
  Specification specification;
  std::string data_root;              // Folder that holds the data sets' folders.
  std::string work_directory;         // Where files go; exists, empty, the trainer's own.
  bool write_evaluation_set = false;  // Also write the test images and labels, for reports.
  // Hexadecimal SHA-256 of the specification's canonical JSON, as who gave it said; "" = not said.
  std::string specification_sha256 = {};
  // A .safetensors file: nothing is trained, and these weights are evaluated. "" = train.
  std::string weights = {};
};
std::string RequestToJson(const TrainerRequest& request);
absl::StatusOr<TrainerRequest> RequestFromJson(std::string_view json);

// The same by who passes the specification on as it came: not read, and not changed by a byte.
struct PassedRequest {
  std::string member;
  uint32_t attempt = 1;
  std::string specification;  // A JSON object.
  std::string specification_sha256;
  std::string data_root;
  std::string work_directory;
  bool write_evaluation_set = false;
  std::string weights = {};  // As in TrainerRequest. Only for a trainer that says that it infers.
};
std::string RequestToJson(const PassedRequest& request);

// Of a trainer's description, "infers": what it understands of a request's "weights".
inline constexpr int kInferVersion = 1;

// The few settings that a worker must know to start a trainer. InvalidArgument when `specification`
// is no JSON object, or they are not there as texts.
struct TrainerNeeds {
  std::string stack;
  std::string hardware_class;
  std::string data_set;  // "" = the trainer finds its data itself.
  bool kernels_free = false;
};
absl::StatusOr<TrainerNeeds> NeedsOf(std::string_view specification);

// One measured value at a step; may be not finite.
struct Record {
  int64_t step = 0;    // Optimiser steps done.
  double epoch = 0;    // Epochs done, may be fractional.
  std::string metric;  // "test_top1"
  double value = 0;
};

enum class CauseClass : uint8_t {
  kNone = 0,
  kBadSpecification,  // Exit code 10. Never retried.
  kBadData,           // 11: missing, truncated, or of another identity on this worker.
  kOutOfMemory,       // 12
  kLostDevice,        // 13
  kInterrupted,       // 14: asked to stop. Not the member's fault.
  kBug,               // 15, or an exit that no code explains.
  kLostWorker,        // The coordinator's own: the lease ran out.
};
std::string_view Name(CauseClass cause);  // "out_of_memory"
std::optional<CauseClass> ParseCauseClass(std::string_view name);
int ExitCodeOf(CauseClass cause);
CauseClass CauseOfExitCode(int exit_code);

struct HelloEvent {  // First on the wire.
  int protocol = kTrainerProtocolVersion;
  std::string stack;
  std::string build;          // Hash of the trainer's own executable.
  std::string environment;    // JSON object as text.
  std::string data_identity;  // Of the whole data set; empty when no data were read.
  bool resumes = false;  // It goes on from checkpoints in NOISEFLOOR_CHECKPOINTS. May be absent.
};
struct RecordsEvent {  // Numbered from 1 within an attempt, without gaps.
  uint64_t sequence = 0;
  std::vector<Record> records;
};
struct ProgressEvent {
  int64_t step = 0;
  int64_t step_count = 0;
};

// A file of an attempt, from its trainer to whoever asks for it; whole and synced when a trainer
// tells of it.
struct Artifact {
  std::string kind;    // "predictions", "weights", "evaluation_images", ...
  std::string path;    // Relative to the work directory; no "..".
  std::string sha256;  // Hexadecimal.
  uint64_t size = 0;   // Bytes.
  friend bool operator==(const Artifact&, const Artifact&) = default;
};

// How an attempt ended, as its trainer says last.
struct Outcome {
  enum class Kind : uint8_t { kDone, kDiverged, kFailed } kind = Kind::kFailed;
  CauseClass cause = CauseClass::kNone;  // Of kFailed.
  std::string message;
  std::map<std::string, std::string> hashes;  // "init", "first_batches", "weights", "logits",
                                              // "weights_at/<evaluation>": hex SHA-256.
  std::map<std::string, double> metrics;      // "loss", "top1", "top5", final; may be not finite.
  std::vector<double> per_class_accuracy;
  std::string environment;  // JSON object as text: with what was read back at the end.
  double train_seconds = 0;
};
std::string_view Name(Outcome::Kind kind);  // "done"
std::optional<Outcome::Kind> ParseOutcomeKind(std::string_view name);

using TrainerEvent = std::variant<HelloEvent, RecordsEvent, ProgressEvent, Artifact, Outcome>;

// One line without its newline.
std::string EventToJson(const TrainerEvent& event);
// Limits: 4 MiB a line, 100,000 records an event, 200 bytes a name. Refuses what it does not know.
absl::StatusOr<TrainerEvent> EventFromJson(std::string_view line);
inline constexpr size_t kMaxEventBytes = 4 << 20;
inline constexpr size_t kMaxOutcomeEntries = 10000;  // Hashes, metrics, classes: of each.
inline constexpr size_t kMaxArtifacts = 1000;        // Of an attempt.

// Numbers that may be not finite, as JSON text and back: 0.5, "nan", "inf", "-inf".
std::string NumberToText(double value);

}  // namespace noisefloor
