// Sets of images of a user's own: a folder below a data root. Normative for order and identity.
//
// The pictures are found (image_tree.h), named and labelled (table.h, image_labels.h), decoded
// (picture.h) and made one size (resize.h). The digest of an example is SHA-256 over one byte for
// the split (0 train, 1 test), the label as two bytes (little endian; 0 where there are
// attributes), a byte for each attribute, the place of each group's value as two bytes, and the
// pixels (red, green, blue plane). Examples of a split are ranked by the bytes of their digests;
// equal ones by their place in the tree. The identity is SHA-256 over
//   "noisefloor images 1\n", the description (DescribeSet, bare) and "\n"; the digests of the train
//   split in order, then those of the test split in order.
// The description holds the versions of the decoders: other ones make another set.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/time/time.h"

#include "common/base/status.h"
#include "worker/trainer/data/data_cache.h"
#include "worker/trainer/data/dataset.h"
#include "worker/trainer/images/go_on.h"
#include "worker/trainer/images/image_labels.h"

namespace noisefloor::trainer {

struct ImageSource {
  std::string_view data_root;        // Folders, separated by ':'.
  const DataCache* cache = nullptr;  // None: the set is held in memory.
  int64_t threads = 1;               // That decode.
  GoOn go_on = {};
};

// Reads a set, or takes it from the cache, as LoadDataset does. With a cache, memory is bounded:
// what is decoded lies in what becomes the set's file; and of several processes that want the same
// set one reads it, while the others wait. NotFound: no folder. InvalidArgument, DataLoss,
// PermissionDenied: the file and what is wrong with it; of several broken ones the first in order,
// and of pictures that are refused the names of others. Cancelled when `source.go_on` says so.
// `now`: wall time.
absl::StatusOr<Dataset> LoadImages(const ImageSettings& settings, const ImageSource& source,
                                   ExampleLimits limits, absl::Time now);

// The processors that this process may run on.
int64_t UsableProcessors();

}  // namespace noisefloor::trainer
