// Data files that are wrong in every way a user's may be, each with its exact message.
#include <functional>

#include "gtest/gtest.h"

#include "tests/worker/trainer/data/data_files.h"
#include "worker/trainer/data/dataset.h"

namespace noisefloor::trainer {
namespace {

struct Broken {
  std::string what;
  std::function<void(const DataRoot&)> damage;
  std::string message;  // After the root's path, "ROOT", has been put in.
  absl::StatusCode code = absl::StatusCode::kInvalidArgument;
};

std::string WithRoot(std::string message, const DataRoot& root) {
  for (size_t at = message.find("ROOT"); at != std::string::npos; at = message.find("ROOT", at)) {
    message.replace(at, 4, root.path());
  }
  return message;
}

void ExpectRefused(const KnownDataset& known, const std::vector<Broken>& all) {
  for (const Broken& broken : all) {
    SCOPED_TRACE(broken.what);
    DataRoot root;
    PutTinyCifar10(root, RandomExamples(1, 15, 12, 4), RandomExamples(2, 3, 12, 4));
    PutTinyCifar100(root);
    PutTinyMnist(root);
    ASSERT_TRUE(LoadDataset(known, root.path(), {}).ok());

    broken.damage(root);
    const absl::Status status = LoadDataset(known, root.path(), {}).status();

    EXPECT_EQ(status.code(), broken.code);
    EXPECT_EQ(Message(status), WithRoot(broken.message, root));
  }
}

auto Put(std::string name, std::string bytes) {
  return [=](const DataRoot& root) { root.Put(name, bytes); };
}
auto Remove(std::string name) {
  return [=](const DataRoot& root) { ASSERT_TRUE(RemoveTree(root.Path(name)).ok()); };
}

TEST(BrokenDataTest, CifarFilesAreRefusedWithTheReason) {
  const std::string good = CifarRecords(RandomExamples(3, 3, 12, 4));
  std::string label = good;
  label[13] = 4;
  std::string high_label = good;
  high_label[26] = '\xff';
  ExpectRefused(
      kTinyCifar10,
      {
          {"folder missing", Remove("ten"),
           "data set cifar10: no folder ten under the data root 'ROOT'",
           absl::StatusCode::kNotFound},
          {"train file missing", Remove("ten/data_batch_3.bin"),
           "ROOT/ten/data_batch_3.bin: cannot open: No such file or directory",
           absl::StatusCode::kNotFound},
          {"test file missing", Remove("ten/test_batch.bin"),
           "ROOT/ten/test_batch.bin: cannot open: No such file or directory",
           absl::StatusCode::kNotFound},
          {"cut short", Put("ten/data_batch_2.bin", good.substr(0, 38)),
           "ROOT/ten/data_batch_2.bin: 38 bytes; expected whole records of 13 bytes"},
          {"a byte too many", Put("ten/data_batch_2.bin", good + "x"),
           "ROOT/ten/data_batch_2.bin: 40 bytes; expected whole records of 13 bytes"},
          {"label out of range", Put("ten/data_batch_5.bin", label),
           "ROOT/ten/data_batch_5.bin: example 1 has label 4; expected 0 to 3"},
          {"label far out of range", Put("ten/test_batch.bin", high_label),
           "ROOT/ten/test_batch.bin: example 2 has label 255; expected 0 to 3"},
          {"a record missing", Put("ten/data_batch_1.bin", good.substr(13)),
           "ROOT/ten: 14 train examples; expected 15"},
          {"a record too many", Put("ten/test_batch.bin", good + good.substr(0, 13)),
           "ROOT/ten: 4 test examples; expected 3"},
          {"an empty file", Put("ten/test_batch.bin", ""), "ROOT/ten: 0 test examples; expected 3"},
          // Its labels are wrong too: records are counted before any is read.
          {"far too many records", Put("ten/data_batch_1.bin", std::string(13 * 1000, '\xff')),
           "ROOT/ten: 1012 train examples; expected 15"},
          {"a folder in place of a file",
           [](const DataRoot& root) {
             ASSERT_TRUE(RemoveFile(root.Path("ten/test_batch.bin")).ok());
             ASSERT_TRUE(CreateDirectories(root.Path("ten/test_batch.bin")).ok());
           },
           "ROOT/ten/test_batch.bin: not a regular file", absl::StatusCode::kFailedPrecondition},
      });
}

TEST(BrokenDataTest, Cifar100FilesAreRefusedWithTheReason) {
  const std::string good = CifarRecords(RandomExamples(5, 5, 12, 4), true);
  std::string coarse = good;
  coarse[14] = 20;
  std::string fine = good;
  fine[15] = 77;
  ExpectRefused(kTinyCifar100,
                {
                    {"coarse label out of range", Put("hundred/train.bin", coarse),
                     "ROOT/hundred/train.bin: example 1 has coarse label 20; expected 0 to 19"},
                    {"fine label out of range", Put("hundred/train.bin", fine),
                     "ROOT/hundred/train.bin: example 1 has label 77; expected 0 to 3"},
                    {"records of the other format",
                     Put("hundred/train.bin", CifarRecords(RandomExamples(5, 5, 12, 4))),
                     "ROOT/hundred/train.bin: 65 bytes; expected whole records of 14 bytes"},
                });
}

TEST(BrokenDataTest, IdxImagesAreRefusedWithTheReason) {
  const std::vector<Example> train = RandomExamples(7, 9, 6, 4);
  const std::string good = IdxImages(train, 3, 2);
  const std::string name = "digits/train-images-idx3-ubyte";
  const std::string path = "ROOT/" + name;
  ExpectRefused(kTinyMnist,
                {
                    {"missing", Remove(name), path + ": not found, and neither is " + path + ".gz",
                     absl::StatusCode::kNotFound},
                    {"labels in place of images", Put(name, IdxLabels(train)),
                     path + ": magic number 0x00000801; expected 0x00000803"},
                    {"floats", Put(name, BigEndian(0xD03) + good.substr(4)),
                     path + ": magic number 0x00000d03; expected 0x00000803"},
                    {"empty", Put(name, ""), path + ": ends after 0 bytes; the header alone is 16"},
                    {"within the magic", Put(name, good.substr(0, 3)),
                     path + ": ends after 3 bytes; the header alone is 16"},
                    {"within the header", Put(name, good.substr(0, 15)),
                     path + ": ends after 15 bytes; the header alone is 16"},
                    {"cut short", Put(name, good.substr(0, good.size() - 1)),
                     path + ": 53 bytes after the header; expected 54"},
                    {"a byte too many", Put(name, good + "x"),
                     path + ": 55 bytes after the header; expected 54"},
                    {"other sizes", Put(name, IdxImages(train, 2, 3)),
                     path + ": images of 2x3; expected 3x2"},
                    {"enormous sizes",
                     Put(name, BigEndian(0x803) + std::string(12, '\xff') + good.substr(16)),
                     path + ": sizes of more than 268435456 bytes"},
                });
}

TEST(BrokenDataTest, IdxLabelsAreRefusedWithTheReason) {
  const std::vector<Example> train = RandomExamples(7, 9, 6, 4);
  std::vector<Example> wrong_label = train;
  wrong_label[5].label = 4;
  const std::string name = "digits/train-labels-idx1-ubyte";
  const std::string path = "ROOT/" + name;
  ExpectRefused(kTinyMnist,
                {
                    {"missing", Remove(name), path + ": not found, and neither is " + path + ".gz",
                     absl::StatusCode::kNotFound},
                    {"images in place of labels", Put(name, IdxImages(train, 3, 2)),
                     path + ": magic number 0x00000803; expected 0x00000801"},
                    {"fewer labels", Put(name, IdxLabels(RandomExamples(7, 8, 6, 4))),
                     path + ": 8 labels; ROOT/digits/train-images-idx3-ubyte has 9 images"},
                    {"label out of range", Put(name, IdxLabels(wrong_label)),
                     path + ": example 5 has label 4; expected 0 to 3"},
                    {"cut short", Put(name, IdxLabels(train).substr(0, 16)),
                     path + ": 8 bytes after the header; expected 9"},
                });
}

TEST(BrokenDataTest, PackedFilesAreRefusedWithTheReason) {
  const std::string packed = Gzip(IdxImages(RandomExamples(7, 9, 6, 4), 3, 2));
  std::string damaged = packed;
  damaged[damaged.size() - 8] ^= 1;
  const std::string name = "digits/train-images-idx3-ubyte";
  const auto instead = [&](const std::string& bytes) {
    return [=](const DataRoot& root) {
      ASSERT_TRUE(RemoveFile(root.Path(name)).ok());
      root.Put(name + ".gz", bytes);
    };
  };
  ExpectRefused(kTinyMnist,
                {
                    {"damaged", instead(damaged),
                     "ROOT/" + name + ".gz: not valid gzip data: incorrect data check"},
                    {"cut short", instead(packed.substr(0, packed.size() - 4)),
                     "ROOT/" + name + ".gz: the gzip data end early, after 70 bytes of content"},
                    {"bytes after the end", instead(packed + "x"),
                     "ROOT/" + name + ".gz: 1 bytes follow the end of the gzip data"},
                });
}

TEST(BrokenDataTest, SetOfAnotherSizeIsRefusedWithTheReason) {
  ExpectRefused(kTinyMnist, {{"a smaller set",
                              [](const DataRoot& root) {
                                const std::vector<Example> few = RandomExamples(7, 5, 6, 4);
                                root.Put("digits/train-images-idx3-ubyte", IdxImages(few, 3, 2));
                                root.Put("digits/train-labels-idx1-ubyte", IdxLabels(few));
                              },
                              "ROOT/digits: 5 train examples; expected 9"}});
}

TEST(BrokenDataTest, WrongNamesAndLimitsAreRefused) {
  DataRoot root;
  PutTinyMnist(root);
  const auto refusal = [&](ExampleLimits limits) {
    return Message(LoadDataset(kTinyMnist, root.path(), limits).status());
  };

  EXPECT_EQ(Message(LoadDataset("cifar", root.path(), {}).status()),
            "data set 'cifar' is not known; expected one of cifar10, cifar100, mnist, "
            "fashion-mnist, fashion-mnist-sample");
  EXPECT_EQ(refusal({.train = 10}),
            "data set mnist: 10 train examples wanted; expected 0 (all) to 9");
  EXPECT_EQ(refusal({.test = -1}),
            "data set mnist: -1 test examples wanted; expected 0 (all) to 4");
  EXPECT_EQ(Message(LoadDataset(kTinyMnist, "", {}).status()),
            "data set mnist: no folder digits under the data root ''");
}

}  // namespace
}  // namespace noisefloor::trainer
