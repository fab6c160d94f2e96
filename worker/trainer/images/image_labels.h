// From a table and the pictures of a folder to numbers: the label, the attributes and the groups of
// each picture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "worker/trainer/data/dataset.h"
#include "worker/trainer/images/image_tree.h"
#include "worker/trainer/images/table.h"

namespace noisefloor::trainer {

// What a specification says of a set of its user's own.
struct ImageSettings {
  std::string name;         // Its folder below a data root.
  int64_t image_size = 0;   // Side in pixels.
  std::string labels;       // A column, or attributes separated by commas; empty: "label".
  std::string groups;       // Columns separated by commas; empty: none.
  bool attributes = false;  // Several answers of yes or no, instead of one class.
};

// By place in ImageTree::entries.
struct ImageLabels {
  std::vector<std::string> classes;     // Sorted: as numbers when all are, else by their bytes.
  std::vector<std::string> attributes;  // Names; then there are no classes.
  std::vector<GroupColumn> groups;
  std::vector<Subset> parts;
  std::vector<uint16_t> label;
  std::vector<uint8_t> attribute;  // {pictures, attributes}
  std::vector<uint16_t> group;     // {pictures, groups}
};

// The table is labels.csv in the folder, or CelebA's, or the pictures' own names or folders: the
// first of these that is there.
absl::StatusOr<ImageTable> TableOf(const ImageTree& tree);

// InvalidArgument, with file and line where there is one: a column that is not there or named
// twice, a picture without a line, a line without a picture, two lines of one picture, a value that
// is empty or says that it is none (nan), an attribute that is neither 0 nor 1, fewer than two
// classes, a class that nothing is trained of, a split without pictures, more than 65,535 classes
// or groups.
absl::StatusOr<ImageLabels> LabelsOf(const ImageTree& tree, const ImageTable& table,
                                     const ImageSettings& settings);

}  // namespace noisefloor::trainer
