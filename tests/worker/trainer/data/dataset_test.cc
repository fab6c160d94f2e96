#include "worker/trainer/data/dataset.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "gtest/gtest.h"

#include "common/files/atomic_file.h"
#include "common/files/sha256.h"
#include "tests/worker/trainer/data/data_files.h"

namespace noisefloor::trainer {
namespace {

std::vector<Example> TrainExamples() { return RandomExamples(1, 15, 12, 4); }
std::vector<Example> TestExamples() { return RandomExamples(2, 3, 12, 4); }

Dataset LoadTiny(const std::vector<Example>& train, const std::vector<Example>& test,
                 ExampleLimits limits = {}) {
  DataRoot root;
  PutTinyCifar10(root, train, test);
  return LoadDataset(kTinyCifar10, root.path(), limits).value();
}

// The content of a split, without its order.
std::multiset<std::tuple<int64_t, std::string>> ContentOf(const Split& split) {
  std::multiset<std::tuple<int64_t, std::string>> content;
  for (uint32_t i = 0; i < split.size(); ++i) {
    content.emplace(split.labels[i], std::string(reinterpret_cast<const char*>(split.Image(i)),
                                                 static_cast<size_t>(split.shape.pixels())));
  }
  return content;
}

std::multiset<std::tuple<int64_t, std::string>> ContentOf(const std::vector<Example>& examples) {
  std::multiset<std::tuple<int64_t, std::string>> content;
  for (const Example& example : examples) content.emplace(example.label, example.pixels);
  return content;
}

TEST(DatasetTest, EveryExampleIsReadWithItsLabel) {
  const Dataset dataset = LoadTiny(TrainExamples(), TestExamples());

  EXPECT_EQ(ContentOf(dataset.train), ContentOf(TrainExamples()));
  EXPECT_EQ(ContentOf(dataset.test), ContentOf(TestExamples()));
  EXPECT_EQ(dataset.shape.channels, 3);
}

// The definition in canonical.h, written down a second time.
std::string ExampleDigest(char split, const Example& example) {
  return Sha256Hex(std::string{split, static_cast<char>(example.label), 0} + example.pixels);
}

TEST(DatasetTest, ExamplesAreRankedByTheDigestOfTheirContent) {
  std::vector<Example> expected = TrainExamples();
  std::sort(expected.begin(), expected.end(), [](const Example& a, const Example& b) {
    return ExampleDigest(0, a) < ExampleDigest(0, b);
  });

  const Dataset dataset = LoadTiny(TrainExamples(), TestExamples());

  ASSERT_EQ(dataset.train.size(), expected.size());
  for (uint32_t i = 0; i < dataset.train.size(); ++i) {
    EXPECT_EQ(dataset.train.labels[i], expected[i].label);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(dataset.train.Image(i)), 12),
              expected[i].pixels);
  }
}

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

TEST(DatasetTest, IdentityIsTheHashThatItsDefinitionSays) {
  std::vector<std::string> train;
  std::vector<std::string> test;
  for (const Example& example : TrainExamples()) train.push_back(ExampleDigest(0, example));
  for (const Example& example : TestExamples()) test.push_back(ExampleDigest(1, example));
  std::sort(train.begin(), train.end());
  std::sort(test.begin(), test.end());
  std::string text = "noisefloor dataset 1\n";
  for (const char number : {4, 3, 2, 2, 15, 3}) text += number + std::string(7, '\0');
  for (const std::string& digest : train) text += FromHex(digest);
  for (const std::string& digest : test) text += FromHex(digest);

  EXPECT_EQ(LoadTiny(TrainExamples(), TestExamples()).identity, Sha256Hex(text));
}

TEST(DatasetTest, ReorderedFilesChangeNothing) {
  const Dataset dataset = LoadTiny(TrainExamples(), TestExamples());
  std::vector<Example> reversed = TrainExamples();
  std::reverse(reversed.begin(), reversed.end());
  std::vector<Example> rotated = TestExamples();
  std::rotate(rotated.begin(), rotated.begin() + 1, rotated.end());

  const Dataset reordered = LoadTiny(reversed, rotated);

  EXPECT_EQ(reordered.identity, dataset.identity);
  EXPECT_EQ(reordered.train.images, dataset.train.images);
  EXPECT_EQ(reordered.train.labels, dataset.train.labels);
  EXPECT_EQ(reordered.test.images, dataset.test.images);
  EXPECT_EQ(reordered.test.labels, dataset.test.labels);
}

TEST(DatasetTest, EachPixelAndEachLabelChangesTheIdentity) {
  const std::string identity = LoadTiny(TrainExamples(), TestExamples()).identity;
  std::set<std::string> identities = {identity};

  for (const size_t pixel : {0, 5, 11}) {
    std::vector<Example> changed = TrainExamples();
    changed[7].pixels[pixel] ^= 1;
    identities.insert(LoadTiny(changed, TestExamples()).identity);
  }
  std::vector<Example> relabelled = TrainExamples();
  relabelled[7].label = (relabelled[7].label + 1) % 4;
  identities.insert(LoadTiny(relabelled, TestExamples()).identity);
  std::vector<Example> other_test = TestExamples();
  other_test[0].pixels[0] ^= 1;
  identities.insert(LoadTiny(TrainExamples(), other_test).identity);

  EXPECT_EQ(identities.size(), 6u);
}

TEST(DatasetTest, OtherIdentityIsRefusedByName) {
  const Dataset dataset = LoadTiny(TrainExamples(), TestExamples());

  EXPECT_TRUE(CheckIdentity(dataset, "").ok());
  EXPECT_TRUE(CheckIdentity(dataset, dataset.identity).ok());
  const absl::Status status = CheckIdentity(dataset, "abc");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Message(status), "data set cifar10 has the identity " + dataset.identity +
                                 "; expected abc: at least one label or pixel differs");
}

TEST(DatasetTest, LimitsTakeTheFirstInCanonicalOrderAndKeepTheIdentity) {
  const Dataset whole = LoadTiny(TrainExamples(), TestExamples());

  const Dataset limited = LoadTiny(TrainExamples(), TestExamples(), {.train = 4, .test = 2});

  EXPECT_EQ(limited.identity, whole.identity);
  EXPECT_EQ(limited.train.size(), 4u);
  EXPECT_EQ(limited.test.size(), 2u);
  EXPECT_TRUE(std::equal(limited.train.images.begin(), limited.train.images.end(),
                         whole.train.images.begin()));
  EXPECT_TRUE(std::equal(limited.test.labels.begin(), limited.test.labels.end(),
                         whole.test.labels.begin()));
}

TEST(DatasetTest, EqualExamplesAreAllKept) {
  std::vector<Example> twice = TrainExamples();
  twice[3] = twice[8];

  EXPECT_EQ(ContentOf(LoadTiny(twice, TestExamples()).train), ContentOf(twice));
}

TEST(DatasetTest, Cifar100HasCoarseLabelsBeforeItsOwn) {
  DataRoot root;
  PutTinyCifar100(root);

  const Dataset dataset = LoadDataset(kTinyCifar100, root.path(), {}).value();

  EXPECT_EQ(ContentOf(dataset.train), ContentOf(RandomExamples(5, 5, 12, 4)));
  EXPECT_EQ(ContentOf(dataset.test), ContentOf(RandomExamples(6, 3, 12, 4)));
}

TEST(DatasetTest, PackedAndPlainIdxFilesAreTheSameSet) {
  DataRoot plain;
  DataRoot packed;
  PutTinyMnist(plain);
  for (const char* name : {"digits/train-images-idx3-ubyte", "digits/train-labels-idx1-ubyte",
                           "digits/t10k-images-idx3-ubyte", "digits/t10k-labels-idx1-ubyte"}) {
    packed.Put(std::string(name) + ".gz", Gzip(ReadFile(plain.Path(name), 10'000).value()));
  }

  const Dataset from_plain = LoadDataset(kTinyMnist, plain.path(), {}).value();
  const Dataset from_packed = LoadDataset(kTinyMnist, packed.path(), {}).value();

  EXPECT_EQ(ContentOf(from_plain.train), ContentOf(RandomExamples(7, 9, 6, 4)));
  EXPECT_EQ(from_packed.identity, from_plain.identity);
  EXPECT_EQ(from_packed.train.images, from_plain.train.images);
  EXPECT_EQ(from_packed.test.labels, from_plain.test.labels);
}

TEST(DatasetTest, FirstRootThatHasTheFolderIsUsed) {
  DataRoot empty;
  DataRoot root;
  PutTinyMnist(root);

  EXPECT_TRUE(LoadDataset(kTinyMnist, empty.path() + ":" + root.path(), {}).ok());
  EXPECT_TRUE(LoadDataset(kTinyMnist, ":" + root.path() + ":", {}).ok());

  DataRoot other;
  PutTinyMnist(other);
  std::vector<Example> changed = RandomExamples(7, 9, 6, 4);
  changed[0].pixels[0] ^= 1;
  other.Put("digits/train-images-idx3-ubyte", IdxImages(changed, 3, 2));
  const auto identity = [](const std::string& roots) {
    return LoadDataset(kTinyMnist, roots, {}).value().identity;
  };
  EXPECT_EQ(identity(root.path() + ":" + other.path()), identity(root.path()));
  EXPECT_EQ(identity(other.path() + ":" + root.path()), identity(other.path()));
  EXPECT_NE(identity(root.path()), identity(other.path()));
}

}  // namespace
}  // namespace noisefloor::trainer
