// Folders, tars and tables as data sets: what is in them, their identity, and the cache.
#include "worker/trainer/images/image_set.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/atomic_file.h"
#include "common/files/sha256.h"
#include "tests/worker/trainer/images/own_images.h"
#include "worker/trainer/data/examples_seen.h"
#include "worker/trainer/data/groups_csv.h"
#include "worker/trainer/images/go_on.h"
#include "worker/trainer/images/image_file.h"
#include "worker/trainer/images/image_tree.h"
#include "worker/trainer/images/resize.h"

namespace noisefloor::trainer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string ImageAt(const Split& split, uint32_t rank) {
  const uint8_t* image = split.Image(rank);
  return {reinterpret_cast<const char*>(image), static_cast<size_t>(split.shape.pixels())};
}

// As the documentation has it, written from its words.
std::string Shrunk(const std::string& bytes) {
  Picture picture;
  EXPECT_TRUE(DecodePicture(bytes, picture).ok());
  std::string planes(192, '\0');
  Resizer(8).Resize(picture, {reinterpret_cast<uint8_t*>(planes.data()), planes.size()});
  return planes;
}

TEST(ImageSetTest, AttributesAndGroupsGoWithTheirPictures) {
  DataRoot root;
  PutFaces(root);
  const Dataset set = Load(root, FacesSettings()).value();

  EXPECT_THAT(set.attributes, ElementsAre("smiling", "old"));
  EXPECT_EQ(set.classes, 2);
  EXPECT_THAT(set.groups, ElementsAre(GroupColumn{"city", {"Bern", "Bern, old town", "Oslo"}},
                                      GroupColumn{"age", {"4", "30", "100"}}));  // As numbers.
  EXPECT_EQ(set.train.size(), 4u);
  EXPECT_EQ(set.test.size(), 2u);
  std::map<std::string, std::vector<int>> said;  // By picture: attributes, then groups.
  for (const Split* split : {&set.train, &set.test}) {
    for (uint32_t i = 0; i < split->size(); ++i) {
      said[ImageAt(*split, i)] = {split->attributes[2 * i], split->attributes[2 * i + 1],
                                  split->groups[2 * i], split->groups[2 * i + 1]};
    }
  }
  EXPECT_THAT(said[Shrunk(Shot(1))], ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(said[Shrunk(Shot(2))], ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(said[Shrunk(test::Jpeg(test::Rgb(20, 12, 9), 20, 12))], ElementsAre(0, 0, 2, 1));
  EXPECT_THAT(said[Shrunk(Shot(3))], ElementsAre(1, 1, 2, 0));
  EXPECT_THAT(said[Shrunk(Shot(4))], ElementsAre(0, 1, 0, 2));
  EXPECT_THAT(said[Shrunk(Shot(6))], ElementsAre(0, 1, 2, 2));
}

// The order and the identity again, from the words of image_set.h.
TEST(ImageSetTest, OrderAndIdentityAreThoseOfTheDefinition) {
  DataRoot root;
  PutPets(root);
  const Dataset set = Load(root, PetsSettings()).value();
  std::vector<std::string> digests[2];
  for (size_t s = 0; s < 2; ++s) {
    const Split& split = s == 0 ? set.train : set.test;
    for (uint32_t i = 0; i < split.size(); ++i) {
      Sha256 hash;
      const char label = static_cast<char>(split.labels[i]);
      hash.Update(std::string{static_cast<char>(s), label, '\0'}).Update(ImageAt(split, i));
      const Sha256Digest digest = hash.Digest();
      digests[s].emplace_back(digest.begin(), digest.end());
    }
    EXPECT_TRUE(std::ranges::is_sorted(digests[s], [](const auto& a, const auto& b) {
      return std::ranges::lexicographical_compare(a, b, [](char x, char y) {
        return static_cast<unsigned char>(x) < static_cast<unsigned char>(y);
      });
    }));
  }
  std::string text =
      "noisefloor images 1\n"
      R"({"attributes":[],"classes":["cat","dog"],"decoder":")" +
      DecoderName() +
      R"(","groups":[],"image_size":8,"test_examples":2,"train_examples":4})"
      "\n";
  for (const auto& split : digests) {
    for (const std::string& digest : split) text += digest;
  }
  EXPECT_EQ(set.identity, Sha256Hex(text));
  EXPECT_EQ(set.identity, "ad5fb69fd1494854da76751ce38ca9a7f5a1c42d1990050719c892815e180e44");
}

// With attributes and groups, from the same words.
TEST(ImageSetTest, TheIdentityHasAttributesAndGroups) {
  DataRoot root;
  PutFaces(root);
  const Dataset set = Load(root, FacesSettings()).value();
  std::string text =
      "noisefloor images 1\n"
      R"({"attributes":["smiling","old"],"classes":[],"decoder":")" +
      DecoderName() +
      R"(","groups":[{"name":"city","values":["Bern","Bern, old town","Oslo"]},)"
      R"({"name":"age","values":["4","30","100"]}],)"
      R"("image_size":8,"test_examples":2,"train_examples":4})"
      "\n";
  for (size_t s = 0; s < 2; ++s) {
    const Split& split = s == 0 ? set.train : set.test;
    for (uint32_t i = 0; i < split.size(); ++i) {
      std::string head = {static_cast<char>(s), '\0', '\0'};
      for (size_t k = 2 * i; k < 2 * i + 2; ++k) {
        head += static_cast<char>(split.attributes[k]);
      }
      for (size_t k = 2 * i; k < 2 * i + 2; ++k) {
        head += {static_cast<char>(split.groups[k]), '\0'};
      }
      Sha256 hash;
      hash.Update(head).Update(ImageAt(split, i));
      const Sha256Digest digest = hash.Digest();
      text.append(digest.begin(), digest.end());
    }
  }
  EXPECT_EQ(set.identity, Sha256Hex(text));
}

TEST(ImageSetTest, FirstRootThatHasTheFolderIsUsed) {
  DataRoot root, other;
  PutPets(root);
  PutPets(other);
  other.Put("pets/train/cat/1.png", Shot(9));
  const auto identity = [](const std::string& roots) {
    return LoadImages(PetsSettings(), {.data_root = roots}, {}, absl::InfiniteFuture())
        .value()
        .identity;
  };
  EXPECT_EQ(identity(root.path() + ":" + other.path()), identity(root.path()));
  EXPECT_EQ(identity(other.path() + ":" + root.path()), identity(other.path()));
  EXPECT_NE(identity(root.path()), identity(other.path()));
}

TEST(ImageSetTest, NamesEndInAnyCaseAndLieUpToSixteenFoldersDeep) {
  DataRoot root, other;
  PutPets(root);
  std::string deep = "val/dog";  // Two; the file itself lies in the sixteenth.
  for (int i = 2; i < 16; ++i) deep += "/d";
  uint64_t seed = 1;
  for (const std::string& path : {std::string("train/cat/1.PNG"), std::string("train/cat/2.Jpg"),
                                  std::string("train/dog/1.JPEG"), std::string("train/dog/2.jpeg"),
                                  std::string("val/cat/1.pNG"), deep + "/1.jpg"}) {
    other.Put("pets/" + path, Shot(seed++));
  }
  EXPECT_EQ(Load(other, PetsSettings()).value().identity,
            Load(root, PetsSettings()).value().identity);
}

TEST(ImageSetTest, OfATarOnlyWhatIsUsedIsRead) {
  DataRoot root, packed;
  PutFaces(root);
  std::vector<test::TarEntry> entries;
  uint64_t seed = 1;
  for (const char* name : {"a.png", "b.png", "d.png", "e.png", "f.png", "g.png"}) {
    const std::string shot = Shot(seed++);
    entries.push_back({name, name == std::string("f.png") ? "no picture" : shot});
  }
  entries.push_back({"c.jpg", test::Jpeg(test::Rgb(20, 12, 9), 20, 12)});
  packed.Put("faces/labels.csv", kFaces);
  packed.Put("faces/all.tar", test::Tar(entries));
  const absl::StatusOr<Dataset> set = Load(packed, FacesSettings());
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->identity, Load(root, FacesSettings()).value().identity);
}

// One that is none makes all of them texts.
TEST(ImageSetTest, ClassesAreSortedAsNumbersWhereAllAre) {
  const auto class_of_ten = [](const std::string& third) {
    DataRoot root;
    for (uint64_t i = 1; i <= 4; ++i) root.Put(fmt::format("x/{}.png", i), Shot(i));
    root.Put("x/labels.csv", "file,split,label\n1.png,train,9\n2.png,train,10\n3.png,train," +
                                 third + "\n4.png,test,10\n");
    return Load(root, {.name = "x", .image_size = 8}).value().test.labels[0];
  };
  EXPECT_EQ(class_of_ten("11"), 1);
  EXPECT_EQ(class_of_ten("2"), 2);
  EXPECT_EQ(class_of_ten("-2"), 2);
  EXPECT_EQ(class_of_ten("x"), 0);
}

TEST(ImageSetTest, ATarIsTheFolderItWasMadeOf) {
  DataRoot root, packed, both;
  PutPets(root);
  packed.Put("pets/all.tar", PetsTar());
  const Dataset loose = Load(root, PetsSettings()).value();
  const Dataset tar = Load(packed, PetsSettings()).value();
  EXPECT_EQ(tar.identity, loose.identity);
  EXPECT_EQ(ImagesOf(tar.train), ImagesOf(loose.train));
  EXPECT_EQ(tar.test.labels, loose.test.labels);

  // What is hidden is passed over in both.
  DataRoot hidden;
  std::vector<test::TarEntry> entries = PetsEntries();
  entries.push_back({"train/.ipynb_checkpoints/1.png", Shot(9)});
  entries.push_back({"train/cat/.cache/1.png", Shot(9)});
  hidden.Put("pets/all.tar", test::Tar(entries));
  EXPECT_EQ(Load(hidden, PetsSettings()).value().identity, loose.identity);
  root.Put("pets/train/.ipynb_checkpoints/1.png", Shot(9));
  root.Put("pets/train/cat/.cache/1.png", Shot(9));
  root.Put("pets/train/cat/.1.png", Shot(9));
  EXPECT_EQ(Load(root, PetsSettings()).value().identity, loose.identity);

  // A class beside a shard.
  for (int i = 1; i <= 2; ++i) both.Put(fmt::format("pets/train/cat/{}.png", i), Shot(i));
  both.Put("pets/0.tar", test::Tar({{"./train/dog/1.png", Shot(3)}, {"val/cat/1.png", Shot(5)}}));
  both.Put("pets/1.tar", test::Tar({{"train/dog/2.png", Shot(4)}, {"val/dog/1.png", Shot(6)}}));
  EXPECT_EQ(Load(both, PetsSettings()).value().identity, loose.identity);
}

TEST(ImageSetTest, ThreadsChangeNothing) {
  DataRoot root;
  PutFaces(root);
  const Dataset one = Load(root, FacesSettings()).value();
  const Dataset four = Load(root, FacesSettings(), {}, 4).value();
  EXPECT_EQ(one.identity, four.identity);
  EXPECT_EQ(ImagesOf(one.train), ImagesOf(four.train));
}

TEST(ImageSetTest, AColumnOfTheTableIsAClass) {
  DataRoot root;
  PutFaces(root);
  root.Put("faces/labels.csv",
           "split,file,label\ntrain,a.png,x\ntrain,b.png,y\ntest,c.jpg,x\nunused,d.png,\n"
           "unused,e.png,z\nunused,f.png,\ntrain,g.png,x\n");
  const Dataset set = Load(root, {.name = "faces", .image_size = 8}).value();
  EXPECT_EQ(set.classes, 2);
  EXPECT_EQ(set.train.size(), 3u);
  EXPECT_TRUE(set.attributes.empty());
  EXPECT_EQ(std::ranges::count(set.train.labels, 0), 2);
  EXPECT_THAT(std::vector<int64_t>(set.test.labels.begin(), set.test.labels.end()), ElementsAre(0));
}

TEST(ImageSetTest, CelebasLayout) {
  DataRoot root;
  root.Put("celeba/list_attr_celeba.txt",
           "3\r\nMale Young\r\n000001.jpg -1  1\r\n000002.jpg  1  1\r\n000003.jpg -1 -1\r\n");
  root.Put("celeba/list_eval_partition.txt", "000001.jpg 0\n000002.jpg 1\n000003.jpg 2\n");
  for (int i = 1; i <= 3; ++i) {
    root.Put(fmt::format("celeba/img_align_celeba/00000{}.jpg", i),
             test::Jpeg(test::Rgb(17, 21, i), 17, 21));
  }
  const Dataset set = Load(root, {.name = "celeba",
                                  .image_size = 8,
                                  .labels = "Male,Young",
                                  .groups = "Male",
                                  .attributes = true})
                          .value();
  EXPECT_EQ(set.train.size(), 1u);  // The validation part is not used.
  EXPECT_THAT(std::vector<int>(set.train.attributes.begin(), set.train.attributes.end()),
              ElementsAre(0, 1));
  EXPECT_THAT(std::vector<int>(set.test.attributes.begin(), set.test.attributes.end()),
              ElementsAre(0, 0));
  EXPECT_THAT(set.groups, ElementsAre(GroupColumn{"Male", {"0"}}));
}

TEST(ImageSetTest, UtkFacesLayout) {
  DataRoot root;
  int64_t tests = 0;
  for (int i = 0; i < 30; ++i) {
    const std::string name = fmt::format("{}_{}_{}_2017010{}.jpg", i, i % 2, i % 5, i);
    root.Put("utk/part1/" + name, test::Jpeg(test::Rgb(9, 9, i), 9, 9));
    Sha256 hash;
    tests += hash.Update(name).Digest()[0] < 51 ? 1 : 0;
  }
  const Dataset set =
      Load(root, {.name = "utk", .image_size = 8, .labels = "gender", .groups = "race"}).value();
  EXPECT_EQ(set.classes, 2);
  EXPECT_GT(tests, 0);
  EXPECT_EQ(set.test.size(), tests);
  EXPECT_EQ(set.train.size(), 30 - tests);
}

TEST(ImageSetTest, LimitsAreTheFirstOfTheOrder) {
  DataRoot root;
  PutPets(root);
  const Dataset all = Load(root, PetsSettings()).value();
  const Dataset some = Load(root, PetsSettings(), {.train = 3, .test = 1}).value();
  EXPECT_EQ(some.identity, all.identity);
  ASSERT_EQ(some.train.size(), 3u);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(ImageAt(some.train, i), ImageAt(all.train, i));
  EXPECT_EQ(Message(Load(root, PetsSettings(), {.train = 5}).status()),
            "data set pets: 5 train examples wanted; expected 0 (all) to 4");
}

TEST(ImageSetTest, WhatIsAskedIsPartOfTheIdentity) {
  DataRoot root;
  PutFaces(root);
  std::set<std::string> identities;
  ImageSettings settings = FacesSettings();
  identities.insert(Load(root, settings).value().identity);
  settings.image_size = 9;
  identities.insert(Load(root, settings).value().identity);
  settings = FacesSettings();
  settings.groups = "city";
  identities.insert(Load(root, settings).value().identity);
  settings.labels = "old,smiling";
  identities.insert(Load(root, settings).value().identity);
  EXPECT_EQ(identities.size(), 4u);
}

class ImageCacheTest : public testing::Test {
 protected:
  ImageCacheTest() { PutFaces(root_); }

  absl::StatusOr<Dataset> LoadCached(ExampleLimits limits = {}, GoOn go_on = {}) {
    return LoadImages(FacesSettings(),
                      {.data_root = root_.path(), .cache = &cache_, .go_on = std::move(go_on)},
                      limits, absl::InfiniteFuture());
  }
  std::vector<std::string> FilesOfCache(std::string_view ending) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(cache_.folder())) {
      if (entry.path().string().ends_with(ending)) names.push_back(entry.path().string());
    }
    return names;
  }

  DataRoot root_;
  DataRoot folder_;
  DataCache cache_{folder_.path() + "/cache", uint64_t{1} << 30};
};

TEST_F(ImageCacheTest, ASetFromTheCacheIsTheSet) {
  const Dataset plain = Load(root_, FacesSettings()).value();
  const Dataset made = LoadCached().value();
  // Of an unreadable picture nothing is read: the cache answers.
  const Dataset found = LoadCached({.train = 2}).value();
  for (const Dataset* set : {&made, &found}) {
    EXPECT_EQ(set->identity, plain.identity);
    EXPECT_EQ(set->attributes, plain.attributes);
    EXPECT_EQ(set->groups, plain.groups);
    EXPECT_THAT(set->notes, IsEmpty());
    EXPECT_EQ(ImagesOf(set->test), ImagesOf(plain.test));
    EXPECT_EQ(set->test.attributes, plain.test.attributes);
    EXPECT_EQ(set->test.groups, plain.test.groups);
    EXPECT_EQ(set->test.labels.size(), 2u);
  }
  EXPECT_EQ(ImagesOf(made.train), ImagesOf(plain.train));
  EXPECT_EQ(found.train.size(), 2u);
  EXPECT_EQ(FilesOfCache(".data"), (std::vector{cache_.folder() + "/" + plain.identity + ".data"}));
  EXPECT_EQ(FilesOfCache(".source").size(), 1u);
}

TEST_F(ImageCacheTest, AColumnAsClassesAndAsAttributesAreTwoSets) {
  const auto load = [&](bool attributes) {
    ImageSettings settings = FacesSettings();
    settings.labels = "smiling";
    settings.groups = "";
    settings.attributes = attributes;
    return LoadImages(settings, {.data_root = root_.path(), .cache = &cache_}, {},
                      absl::InfiniteFuture())
        .value();
  };
  const Dataset classes = load(false), attributes = load(true);
  EXPECT_THAT(classes.attributes, IsEmpty());
  EXPECT_THAT(attributes.attributes, ElementsAre("smiling"));
  EXPECT_NE(attributes.identity, classes.identity);
}

// Each differs from the first in one setting, of which nothing is found that was kept for another.
TEST_F(ImageCacheTest, WhatIsAskedIsPartOfWhatIsRemembered) {
  std::vector<ImageSettings> all(4, FacesSettings());
  all[1].image_size = 9;
  all[2].groups = "city";
  all[3].labels = "old,smiling";
  for (const ImageSettings& settings : all) {
    const Dataset set = LoadImages(settings, {.data_root = root_.path(), .cache = &cache_}, {},
                                   absl::InfiniteFuture())
                            .value();
    EXPECT_EQ(set.identity, Load(root_, settings).value().identity);
  }
}

// So that it is remembered, and who waits for its reader does not read it again.
TEST_F(ImageCacheTest, AYoungStateIsWaitedFor) {
  absl::Time newest = absl::InfinitePast();
  for (const auto& entry : std::filesystem::directory_iterator(root_.Path("faces"))) {
    struct stat about {};
    ASSERT_EQ(stat(entry.path().c_str(), &about), 0);
    newest = std::max(newest, absl::TimeFromTimespec(about.st_ctim));
  }
  const auto load = [&](absl::Duration age, const GoOn& go_on) {
    return LoadImages(FacesSettings(),
                      {.data_root = root_.path(), .cache = &cache_, .go_on = go_on}, {},
                      newest + age);
  };
  EXPECT_EQ(load(absl::ZeroDuration(), [] { return false; }).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_FALSE(std::filesystem::exists(cache_.folder())) << "it was stopped while it waited";
  EXPECT_TRUE(load(absl::Milliseconds(1900), {}).ok());
  EXPECT_EQ(FilesOfCache(".source").size(), 1u);
}

// What is decoded into is one more among the files that are read.
TEST_F(ImageCacheTest, AFolderThatChangesWhileItIsReadIsRefused) {
  const DataCache among(root_.Path("faces/cache"), uint64_t{1} << 30);
  const absl::Status status =
      LoadImages(FacesSettings(), {.data_root = root_.path(), .cache = &among}, {},
                 absl::InfiniteFuture())
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Message(status), root_.Path("faces") + ": changed while it was read");
}

TEST(TreeStateTest, AChangeIsSeenAlsoWhenTheTimeOfContentIsPutBack) {
  DataRoot root;
  root.Put("x/a.png", "one");
  const std::string path = root.Path("x/a.png");
  const auto key = [&](std::string_view what) {
    return StateOfTree(root.Path("x"), what).value().key;
  };
  const std::string before = key("");
  EXPECT_EQ(key(""), before);
  EXPECT_NE(key("another size"), before);
  struct stat was {};
  ASSERT_EQ(stat(path.c_str(), &was), 0);
  const std::array<timespec, 2> times = {was.st_atim, was.st_mtim};

  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << "two";
  struct stat is = was;  // Until the system's clock has ticked.
  while (std::tie(is.st_ctim.tv_sec, is.st_ctim.tv_nsec) ==
         std::tie(was.st_ctim.tv_sec, was.st_ctim.tv_nsec)) {
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);
    ASSERT_EQ(stat(path.c_str(), &is), 0);
  }

  EXPECT_NE(key(""), before);
}

TEST_F(ImageCacheTest, WhatLiesInAFileMeanwhileIsLeftNowhere) {
  const Dataset set =
      LoadImages(FacesSettings(), {.data_root = root_.path(), .cache = &cache_, .threads = 3}, {},
                 absl::InfiniteFuture())
          .value();
  const Dataset plain = Load(root_, FacesSettings()).value();
  EXPECT_EQ(set.identity, plain.identity);
  EXPECT_EQ(ImagesOf(set.train), ImagesOf(plain.train));
  EXPECT_THAT(set.notes, IsEmpty());
  EXPECT_THAT(FilesOfCache(""), testing::SizeIs(2));  // The set and its source: nothing is left.
}

// The second comes while the first has all decoded and nothing kept.
TEST_F(ImageCacheTest, OfTwoThatWantOneSetOneReadsIt) {
  std::set<std::string> decoded_into;  // Files that the second one has seen.
  std::promise<void> came;
  absl::StatusOr<Dataset> second;
  const auto of_second = [&, first_time = true]() mutable {
    for (const auto& entry : std::filesystem::directory_iterator(cache_.folder())) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("images.aside-")) decoded_into.insert(name);
    }
    if (std::exchange(first_time, false)) came.set_value();
    return true;
  };
  std::thread other;
  const absl::StatusOr<Dataset> first = LoadCached({}, [&] {
    if (!other.joinable()) {
      other = std::thread([&] { second = LoadCached({}, of_second); });
      came.get_future().wait();
    }
    return true;
  });
  other.join();

  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->identity, first->identity);
  EXPECT_EQ(ImagesOf(second->train), ImagesOf(first->train));
  EXPECT_THAT(decoded_into, testing::SizeIs(1)) << "that of the first one";
  EXPECT_THAT(FilesOfCache(""), testing::SizeIs(2));
}

TEST_F(ImageCacheTest, WhoIsStoppedReadsAndWaitsNoLonger) {
  const GoOn stopped = [] { return false; };
  const absl::Status reading = LoadCached({}, stopped).status();
  EXPECT_EQ(reading.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(Message(reading), "asked to stop while its data were read");

  absl::Status waiting;
  const absl::StatusOr<Dataset> other = LoadCached({}, [&] {
    waiting = LoadCached({}, stopped).status();
    EXPECT_THAT(FilesOfCache(".reading"), testing::SizeIs(waiting.ok() ? 0 : 1));
    return true;
  });
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(waiting, reading);
  EXPECT_THAT(FilesOfCache(""), testing::SizeIs(2));
  EXPECT_EQ(LoadCached({}, stopped).status(), reading) << "while it compares what was kept";
  root_.Put("faces/a.png", "");
  EXPECT_EQ(LoadCached({}, stopped).status(), reading) << "before it decodes anything";
}

TEST_F(ImageCacheTest, ChangedFilesAreReadAgain) {
  const std::string before = LoadCached().value().identity;
  root_.Put("faces/a.png", Shot(77));
  const Dataset after = LoadCached().value();
  EXPECT_NE(after.identity, before);
  EXPECT_EQ(after.identity, Load(root_, FacesSettings()).value().identity);
}

TEST_F(ImageCacheTest, ADamagedFileIsNamedAndMadeAnew) {
  const Dataset made = LoadCached().value();
  const std::string images = ImagesOf(made.train);  // Before what it looks into is damaged.
  const std::string path = FilesOfCache(".data").at(0);
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(path));
  const auto at_beginning = std::ranges::find(made.train.places, 0u) - made.train.places.begin();
  const std::string of_image = fmt::format(
      "the image of train example {} has another checksum than was written", at_beginning);
  const char* const tables = "its tables have another checksum than was written";
  for (const auto& [at, what] : {std::pair<std::streamoff, std::string>{0, of_image},
                                 {6 * 192, tables},  // Six images.
                                 {size - 33, "its description cannot be read"},
                                 {size - 32, tables},
                                 {size - 8, "its foot is not that of a set of images"}}) {
    {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(at);
      file.put('\x07');
    }
    const Dataset again = LoadCached().value();
    EXPECT_THAT(again.notes, ElementsAre("data cache: " + path + ": " + what +
                                         "; made anew from the source files"));
    EXPECT_EQ(ImagesOf(again.train), images);
    EXPECT_THAT(LoadCached().value().notes, IsEmpty());
  }
}

TEST_F(ImageCacheTest, AFileOfAnotherSizeIsNotRead) {
  const Dataset made = LoadCached().value();
  const std::string path = FilesOfCache(".data").at(0);
  const auto whole = ReadFile(path, 1 << 20).value();
  for (const auto& [content, what] :
       {std::pair<std::string, std::string>{"", "0 bytes"},
        {whole.substr(0, 31), "31 bytes"},
        {whole.substr(0, whole.size() - 1), "its foot is not that of a set of images"},
        {whole.substr(64),
         fmt::format("{} bytes; expected {}", whole.size() - 64, whole.size())}}) {
    std::ofstream(path, std::ios::binary) << content;
    EXPECT_THAT(LoadCached().value().notes, ElementsAre("data cache: " + path + ": " + what +
                                                        "; made anew from the source files"));
  }
}

// What lies beyond the limits is not looked at.
TEST_F(ImageCacheTest, OnlyImagesThatAreUsedAreCompared) {
  const Dataset made = LoadCached().value();
  {
    std::fstream file(FilesOfCache(".data").at(0), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(192 * made.train.places[3]);
    file.put(static_cast<char>(~made.train.Image(3)[0]));
  }
  EXPECT_THAT(LoadCached({.train = 3}).value().notes, IsEmpty());
  EXPECT_THAT(LoadCached({.train = 4}).value().notes, testing::SizeIs(1));
}

TEST_F(ImageCacheTest, WhatCannotBeMovedToItsPlaceIsUsedFromMemory) {
  const Dataset plain = Load(root_, FacesSettings()).value();
  folder_.Put("cache/" + plain.identity + ".data/in the way", "");
  const Dataset set = LoadCached().value();
  EXPECT_EQ(ImagesOf(set.train), ImagesOf(plain.train));
  EXPECT_EQ(ImagesOf(set.test), ImagesOf(plain.test));
  EXPECT_THAT(set.notes, ElementsAre(testing::HasSubstr("; done without")));
  EXPECT_THAT(FilesOfCache(""), testing::SizeIs(1)) << "the folder that is in the way";
}

TEST(ImageFileTest, APlaceThatIsNotThereIsDamage) {
  ImageSetFacts facts = {.identity = "x", .image_size = 2, .examples = {1, 0}};
  for (const uint32_t place : {0u, 1u}) {
    const std::vector<uint8_t> image(12, 5);
    const std::vector<Checksum> sums = {ChecksumOf(std::as_bytes(std::span(image)))};
    const auto example = [&](size_t, int64_t) { return ImageExample{.place = place, .label = 3}; };
    // As aligned as a mapped file.
    std::vector<std::max_align_t> room(1000);
    const std::string file =
        std::string(image.begin(), image.end()) + ImageFileTail(facts, example, sums);
    std::memcpy(room.data(), file.data(), file.size());
    const DataCache::Mapped mapped = {std::as_bytes(std::span(room)).first(file.size()), nullptr};
    const auto set = FromImageFile(mapped, "set", "x", {});
    if (place == 0) {
      ASSERT_TRUE(set.ok()) << set.status();
      EXPECT_EQ(set->train.labels[0], 3);
      EXPECT_EQ(set->train.Image(0)[11], 5);
    } else {
      EXPECT_EQ(set.status().code(), absl::StatusCode::kDataLoss);
      EXPECT_EQ(Message(set.status()), "an example has an image that is not there");
    }
  }
}

TEST_F(ImageCacheTest, ACacheThatFailsIsDoneWithout) {
  folder_.Put("cache", "a file");
  const Dataset set = LoadCached().value();
  EXPECT_EQ(set.identity, Load(root_, FacesSettings()).value().identity);
  EXPECT_THAT(set.notes, ElementsAre(testing::HasSubstr("; decoded in memory instead")));
}

TEST(GroupsCsvTest, QuotesWhatMustBe) {
  const Split split = {{3, 8, 8}, {}, {0, 0, 0}, {}, {0, 1, 1, 0, 2, 0}};
  EXPECT_EQ(GroupsAsCsv({{"city", {"Bern", "a, \"b\"", "x"}}, {"a,b", {"0", "1"}}}, split),
            "example,city,\"a,b\"\n0,Bern,1\n1,\"a, \"\"b\"\"\",0\n2,x,0\n");
}

TEST(ExamplesSeenTest, CountsAndHashesTheSet) {
  ExamplesSeen seen(6);
  const std::vector<uint32_t> first = {5, 1, 3}, second = {1, 1};
  seen.Add(first);
  seen.Add(second);
  EXPECT_EQ(seen.count(), 3);
  std::string text = "noisefloor examples seen 1\nabc\n";
  for (const char rank : {1, 3, 5}) text += std::string(1, rank) + std::string(7, '\0');
  EXPECT_EQ(seen.Hash("abc"), Sha256Hex(text));
}

}  // namespace
}  // namespace noisefloor::trainer
