// Tables beside pictures, as text: what each picture is. One value: rows of cells by the path of
// their picture.
//
// A CSV is as common/files/csv_reader.h reads it, of at most 1 GiB. `file` and `split` must be
// among its columns, in any place.
//
//   file    the path of a picture from the folder: "img/000001.jpg"
//   split   train, test or unused
//   others  whatever data.labels and data.groups name; never empty where they do
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace noisefloor::trainer {

enum class Subset : uint8_t { kTrain = 0, kTest = 1, kUnused = 2 };

// A picture and what its columns say. All rows of a table have as many cells as it has columns.
struct TableRow {
  std::string file;
  Subset part = Subset::kUnused;
  std::vector<std::string> cells;
  int64_t line = 0;  // From 1; 0: it stands in no file.
};

struct ImageTable {
  std::string path;                  // Of the file, for messages.
  std::vector<std::string> columns;  // Without file and split.
  std::vector<TableRow> rows;
};

// `text` is the content of `path`. Every refusal is InvalidArgument as PATH:LINE: what is wrong.
absl::StatusOr<ImageTable> ParseCsv(const std::string& path, std::string_view text);

// CelebA's two files: `attributes`, of how many pictures there are, the names of the attributes,
// and a line for each picture of its name and 1 or -1 for each; `partition`, a line for each
// picture of its name and 0 (train), 1 (validation: unused) or 2 (test). Cells are "1" and "0". The
// pictures lie in img_align_celeba.
struct CelebaFiles {
  std::string attributes_path, partition_path;
  std::string_view attributes, partition;
};
absl::StatusOr<ImageTable> ParseCeleba(const CelebaFiles& files);

// UTKFace tells all by the names of its pictures, AGE_GENDER_RACE_DATE.jpg, below `folder`. Columns
// age, gender and race. It has no split of its own: a picture is for tests when the first byte of
// the SHA-256 of its name without the folders is below 51 (about a fifth).
absl::StatusOr<ImageTable> TableOfUtkNames(const std::string& folder,
                                           const std::vector<std::string>& paths);

// train/CLASS/..., and test/CLASS/... or val/CLASS/...: column label, the name of the folder.
absl::StatusOr<ImageTable> TableOfFolders(const std::string& folder,
                                          const std::vector<std::string>& paths);

}  // namespace noisefloor::trainer
