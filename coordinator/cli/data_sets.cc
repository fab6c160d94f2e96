#include "coordinator/cli/data_sets.h"

#include <algorithm>

#include "common/files/directory.h"
#include "coordinator/cli/download.h"
#include "coordinator/cli/unpack.h"

namespace noisefloor::cli {

namespace {

// The hashes are those that other projects pin for the same addresses.
const std::vector<DownloadableSet>& Sets() {
  static const std::vector<DownloadableSet> sets = {
      {.name = "cifar10",
       .base_url = "https://www.cs.toronto.edu/~kriz/",
       .folder = "cifar-10-batches-bin",
       .files = {{"cifar-10-binary.tar.gz",
                  "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"}},
       .archive = true,
       .members = {"batches.meta.txt", "data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                   "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"},
       .unpacked_bytes = 400'000'000},
      {.name = "fashion-mnist",
       .base_url = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
       .folder = "fashion-mnist",
       .files = {{"train-images-idx3-ubyte.gz",
                  "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"},
                 {"train-labels-idx1-ubyte.gz",
                  "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"},
                 {"t10k-images-idx3-ubyte.gz",
                  "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"},
                 {"t10k-labels-idx1-ubyte.gz",
                  "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"}},
       .members = {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz",
                   "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"}},
  };
  return sets;
}

}  // namespace

std::span<const DownloadableSet> DownloadableSets() { return Sets(); }

const DownloadableSet* FindDownloadable(std::string_view name) {
  const auto it = std::ranges::find(Sets(), name, &DownloadableSet::name);
  return it == Sets().end() ? nullptr : &*it;
}

absl::Status GetSet(const DownloadableSet& set, const GetSetSettings& settings) {
  const std::string& base = settings.base_url.empty() ? set.base_url : settings.base_url;
  // An archive lies beside the folder that comes out of it.
  const std::string folder =
      set.archive ? settings.data_root : settings.data_root + "/" + set.folder;
  NF_RETURN_IF_ERROR(CreateDirectories(folder));
  for (const SourceFile& file : set.files) {
    DownloadRequest request;
    request.url = base + (base.ends_with("/") ? "" : "/") + file.name;
    request.path = folder + "/" + file.name;
    request.sha256 = file.sha256;
    request.stop = settings.stop;
    if (settings.progress) {
      request.progress = [&](uint64_t received, uint64_t total) {
        settings.progress(file.name, received, total);
      };
    }
    NF_RETURN_IF_ERROR(Download(request));
    if (set.archive) NF_RETURN_IF_ERROR(Unpack(request.path, folder, set.unpacked_bytes));
  }
  const std::vector<std::string> missing = MissingFiles(set, settings.data_root);
  if (missing.empty()) return absl::OkStatus();
  return MakeError(absl::StatusCode::kDataLoss, set.name + ": the download has no " + missing[0]);
}

std::vector<std::string> MissingFiles(const DownloadableSet& set, const std::string& data_root) {
  std::vector<std::string> missing;
  for (const std::string& member : set.members) {
    const std::string path = data_root + "/" + set.folder + "/" + member;
    const std::string plain = path.ends_with(".gz") ? path.substr(0, path.size() - 3) : path;
    if (!PathExists(path) && !PathExists(plain)) missing.push_back(member);
  }
  return missing;
}

}  // namespace noisefloor::cli
