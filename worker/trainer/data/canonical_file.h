// A data set in canonical order (canonical.h) as one file that can be mapped: what its files say,
// read, checked and ordered once for all trainers of a machine.
//
//   header   numbers of 64 bits, little endian: magic, version, classes, channels, height, width,
//            train and test examples, bytes of the file, bytes before the body; the identity (64
//            characters); the checksum of each MiB of the body; the checksum of all of this
//   body     labels of train, of test (64 bits each), images of train, of test (bytes, {examples,
//            channels, height, width}); each part begins at a multiple of 64 bytes
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "common/base/status.h"
#include "worker/trainer/data/canonical.h"
#include "worker/trainer/data/dataset.h"

namespace noisefloor::trainer {

struct CanonicalParts {
  const RawSplit& train;
  const RawSplit& test;
  const CanonicalOrder& train_order;
  const CanonicalOrder& test_order;
};

// The whole file.
std::string CanonicalFile(const KnownDataset& known, const CanonicalParts& parts);

// The first examples of a file as a data set that looks into `bytes`, which are there as long as
// `holder` is. DataLoss, saying what is wrong, unless the header and every MiB that holds one of
// these examples are as they were written, and for the set `known` of the identity `identity`;
// what lies beyond is not looked at. `limits` are within the set.
absl::StatusOr<Dataset> FromCanonicalFile(
    std::span<const std::byte> bytes,
    const std::shared_ptr<const void>& holder,  // shared: by the splits
    const KnownDataset& known, std::string_view identity, ExampleLimits limits);

}  // namespace noisefloor::trainer
