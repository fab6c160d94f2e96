// Pictures, tars and tables that are wrong in every way a user's may be, each with its exact
// message. The trainer ends with the cause bad_data at each of them (program_test has one).
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gtest/gtest.h"

#include "tests/worker/trainer/images/own_images.h"
#include "worker/trainer/images/image_labels.h"
#include "worker/trainer/images/image_tree.h"
#include "worker/trainer/images/picture.h"
#include "worker/trainer/images/table.h"
#include "worker/trainer/images/tar_shard.h"

namespace noisefloor::trainer {
namespace {

namespace fs = std::filesystem;
using test::JpegOptions;
using test::PngOptions;
using test::Rgb;
using test::Tar;

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

void ExpectRefused(void (*put)(const DataRoot&), const ImageSettings& settings,
                   const std::vector<Broken>& all) {
  for (const Broken& broken : all) {
    SCOPED_TRACE(broken.what);
    DataRoot root;
    put(root);
    ASSERT_TRUE(Load(root, settings).ok()) << Load(root, settings).status();
    broken.damage(root);
    for (const int64_t threads : {1, 3}) {
      const absl::Status status = Load(root, settings, {}, threads).status();
      EXPECT_EQ(status.code(), broken.code);
      EXPECT_EQ(Message(status), WithRoot(broken.message, root));
    }
  }
}

auto Put(std::string name, std::string bytes) {
  return [=](const DataRoot& root) { root.Put(name, bytes); };
}
auto Remove(std::string name) {
  return [=](const DataRoot& root) { ASSERT_TRUE(RemoveTree(root.Path(name)).ok()); };
}

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  NF_CHECK(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string Times(int count, std::string_view text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

// The size that a JPEG's frame header or a PNG's header says.
std::string WithJpegSize(std::string jpeg, int height, int width) {
  const size_t frame = jpeg.find("\xff\xc0");
  NF_CHECK(frame != std::string::npos);
  for (const auto& [at, value] : {std::pair(frame + 5, height), std::pair(frame + 7, width)}) {
    jpeg[at] = static_cast<char>(value >> 8);
    jpeg[at + 1] = static_cast<char>(value);
  }
  return jpeg;
}

std::string PngHeader(uint32_t width, uint32_t height) {
  std::string chunk =
      "IHDR" + BigEndian(width) + BigEndian(height) + std::string("\x08\x02\0\0\0", 5);
  const uint32_t sum = static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(chunk.data()), static_cast<uInt>(chunk.size())));
  return "\x89PNG\r\n\x1a\n" + BigEndian(13) + chunk + BigEndian(sum) + BigEndian(9) + "IDAT";
}

TEST(BrokenImagesTest, PicturesAreRefusedWithTheReason) {
  const std::string png = Shot(1);
  const std::string jpeg = test::Jpeg(Rgb(40, 30, 1), 40, 30);
  std::string flipped = png;
  flipped[png.size() - 13] ^= 1;  // Of the checksum of the pixels.
  JpegOptions cmyk;
  cmyk.components = 4;
  std::string twelve = jpeg;
  twelve[jpeg.find("\xff\xc0") + 4] = 12;
  const std::string at = "ROOT/pets/train/cat/1.png";
  const auto picture = [&](std::string what, std::string bytes, const std::string& message) {
    return Broken{std::move(what), Put("pets/train/cat/1.png", std::move(bytes)),
                  at + ": " + message};
  };
  const std::string soi = jpeg.substr(0, 2);
  ExpectRefused(
      PutPets, PetsSettings(),
      {
          picture("empty", "", "an empty file; expected a JPEG or a PNG"),
          picture("text", "hello, world",
                  "it begins with 68 65 6c 6c: neither a JPEG (ff d8 ff) nor a PNG (89 50 4e 47)"),
          picture("a GIF", std::string("GIF89a\x01\0\x01\0", 10),
                  "it begins with 47 49 46 38: neither a JPEG (ff d8 ff) nor a PNG (89 50 4e 47)"),
          picture("one byte", "\xff",
                  "it begins with ff: neither a JPEG (ff d8 ff) nor a PNG (89 50 4e 47)"),
          picture("PNG cut in its magic", png.substr(0, 8), "PNG: the file ends early"),
          picture("PNG cut in its header", png.substr(0, 20), "PNG: the file ends early"),
          picture("PNG cut in its pixels", png.substr(0, png.find("IDAT") + 30),
                  "PNG: the file ends early"),
          picture("PNG without its end", png.substr(0, png.size() - 12),
                  "PNG: the file ends early"),
          picture("PNG with a changed byte", flipped, "PNG: IDAT: CRC error"),
          picture("PNG of no width", PngHeader(0, 4), "PNG: Invalid IHDR data"),
          picture("PNG without pixels", PngHeader(4, 4).substr(0, 33) + png.substr(png.size() - 12),
                  "PNG: IEND: out of place"),
          picture(
              "PNG, a bomb", PngHeader(60000, 60000),
              "60000x60000 pixels; expected sides of at most 16384 and at most 67108864 pixels"),
          picture(
              "PNG, a large bomb", PngHeader(16384, 16384),
              "16384x16384 pixels; expected sides of at most 16384 and at most 67108864 pixels"),
          picture("JPEG cut after its magic", jpeg.substr(0, 3),
                  "JPEG: Premature end of JPEG file"),
          picture("JPEG cut in its tables", jpeg.substr(0, 100),
                  "JPEG: Premature end of JPEG file"),
          picture("JPEG cut in its pixels", jpeg.substr(0, jpeg.size() - 40),
                  "JPEG: Premature end of JPEG file"),
          picture("JPEG without its end", jpeg.substr(0, jpeg.size() - 2),
                  "JPEG: Premature end of JPEG file"),
          picture("JPEG with bytes inserted", Replaced(jpeg, "\xff\xda", "\xff\x01??\xff\xda"),
                  "JPEG: Corrupt JPEG data: 2 extraneous bytes before marker 0xda"),
          picture("JPEG of no height", WithJpegSize(jpeg, 0, 40),
                  "JPEG: Empty JPEG image (DNL not supported)"),
          picture(
              "JPEG, a bomb", WithJpegSize(jpeg, 65000, 65000),
              "65000x65000 pixels; expected sides of at most 16384 and at most 67108864 pixels"),
          picture("CMYK", test::Jpeg(std::string(4 * 64, 'x'), 8, 8, cmyk),
                  "JPEG: CMYK; expected grey, YCbCr or RGB"),
          picture("12 bits", twelve, "JPEG: Unsupported JPEG data precision 12"),
          picture("JPEG, two in one", soi + jpeg,
                  "JPEG: Invalid JPEG file structure: two SOI markers"),
      });
}

TEST(BrokenImagesTest, ManyScansAreRefused) {
  JpegOptions options;
  options.components = 1;
  options.many_scans = true;
  const std::string jpeg = test::Jpeg(Rgb(16, 16, 1).substr(0, 256), 16, 16, options);
  Picture picture;
  const std::string message = Message(DecodePicture(jpeg, picture));
  EXPECT_EQ(message, "JPEG: more than 100 scans");
}

TEST(BrokenImagesTest, FilesAreRefusedWithTheReason) {
  ExpectRefused(
      PutPets, PetsSettings(),
      {
          {"no folder", Remove("pets"), "data set pets: no folder pets under the data root 'ROOT'",
           absl::StatusCode::kNotFound},
          {"a file in place of the folder",
           [](const DataRoot& root) {
             ASSERT_TRUE(RemoveTree(root.Path("pets")).ok());
             root.Put("pets", "x");
           },
           "ROOT/pets: cannot list: Not a directory", absl::StatusCode::kNotFound},
          {"no pictures",
           [](const DataRoot& root) {
             for (const char* part : {"pets/train", "pets/val"}) {
               ASSERT_TRUE(RemoveTree(root.Path(part)).ok());
             }
             root.Put("pets/notes.txt", "x");
           },
           "ROOT/pets: no pictures; expected files .jpg, .jpeg or .png"},
          {"no tests", Remove("pets/val"), "ROOT/pets: no test pictures"},
          {"a class of tests alone", Put("pets/val/eel/1.png", Shot(9)),
           "ROOT/pets/val/eel/1.png: class 'eel' has no train pictures"},
          {"one class",
           [](const DataRoot& root) {
             ASSERT_TRUE(RemoveTree(root.Path("pets/val/dog")).ok());
             ASSERT_TRUE(RemoveTree(root.Path("pets/train/dog")).ok());
           },
           "ROOT/pets: label has one value, 'cat'; expected at least two classes"},
          {"both test and val", Put("pets/test/cat/1.png", Shot(9)),
           "ROOT/pets: both test and val; expected one of them"},
          {"a picture without a class", Put("pets/train/1.png", Shot(9)),
           "ROOT/pets/train/1.png: expected train/CLASS/FILE, test/CLASS/FILE or val/CLASS/FILE"},
          {"a name that is not UTF-8", Put("pets/train/cat/\xff.png", Shot(9)),
           "ROOT/pets/train/cat/\xff.png: its name is not UTF-8"},
          {"a link to a folder",
           [](const DataRoot& root) {
             fs::create_directory_symlink("train", root.Path("pets/test"));
           },
           "ROOT/pets/test: a link to a folder; expected none"},
          {"a link to nothing",
           [](const DataRoot& root) {
             fs::create_symlink("nothing", root.Path("pets/train/cat/x.png"));
           },
           "ROOT/pets/train/cat/x.png: cannot look at: No such file or directory",
           absl::StatusCode::kNotFound},
          {"a huge file",
           [](const DataRoot& root) {
             fs::resize_file(root.Path("pets/train/cat/1.png"), uintmax_t{1} << 40);
           },
           "ROOT/pets/train/cat/1.png: 1099511627776 bytes; expected at most 67108864"},
          {"seventeen folders", Put("pets/train/cat" + Times(15, "/d") + "/1.png", Shot(9)),
           "ROOT/pets/train/cat" + Times(15, "/d") + ": more than 16 folders deep"},
          {"a column that is not there", Put("pets/labels.csv", "file,split\n"),
           "data.labels: no column 'label' in ROOT/pets/labels.csv; there are none"},
      });
}

TEST(BrokenImagesTest, OfSeveralTheFirstIsNamed) {
  ExpectRefused(
      PutPets, PetsSettings(),
      {
          {"two broken pictures",
           [](const DataRoot& root) {
             root.Put("pets/train/cat/1.png", "hello, world");
             root.Put("pets/train/cat/2.png", "");
           },
           "ROOT/pets/train/cat/1.png: it begins with 68 65 6c 6c: neither a JPEG (ff d8 ff) nor a "
           "PNG (89 50 4e 47); refused as well: ROOT/pets/train/cat/2.png"},
          {"a broken picture before one that is not read",
           [](const DataRoot& root) {
             root.Put("pets/train/cat/1.png", "");
             fs::resize_file(root.Path("pets/train/cat/2.png"), uintmax_t{1} << 40);
           },
           "ROOT/pets/train/cat/1.png: an empty file; expected a JPEG or a PNG"},
      });
}

// Of more than one batch.
TEST(BrokenImagesTest, OfManyThatAreRefusedThirtyMoreAreNamed) {
  DataRoot root;
  PutPets(root);
  std::string named;
  for (int i = 100; i < 200; ++i) {
    root.Put(fmt::format("pets/train/cat/{}.png", i), "");
    if (i == 100 || i > 130) continue;
    named += fmt::format("{}{}", named.empty() ? "" : ", ",
                         root.Path(fmt::format("pets/train/cat/{}.png", i)));
  }
  EXPECT_EQ(Message(Load(root, PetsSettings()).status()),
            fmt::format("{}: an empty file; expected a JPEG or a PNG; refused as well: {} and 69 "
                        "more",
                        root.Path("pets/train/cat/100.png"), named));
}

// The first and the last of each length, and what stands beside them.
TEST(BrokenImagesTest, NamesAreWellFormedUtf8) {
  for (const char* name :
       {"a", "\x7f", "\xc2\x80", "\xc3\xbc.png", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
        "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsUtf8(name)) << name;
  }
  for (const char* name :
       {"\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xc3.",
        "\xe2\x82.", "\xe2.\x82", "\xf0\x9f\x98."}) {
    EXPECT_FALSE(IsUtf8(name)) << name;
  }
  EXPECT_EQ(Message(CheckPath("train/./9.png")), "the path has a part '.'; expected a name");
}

TEST(BrokenImagesTest, UnreadableFilesAreNamed) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  ExpectRefused(PutPets, PetsSettings(),
                {{"no permission",
                  [](const DataRoot& root) { chmod(root.Path("pets/train/cat/2.png").c_str(), 0); },
                  "ROOT/pets/train/cat/2.png: cannot open: Permission denied",
                  absl::StatusCode::kPermissionDenied}});
}

TEST(BrokenImagesTest, AFileThatChangesWhileItIsReadIsNamed) {
  DataRoot root;
  root.Put("x.png", Shot(1));
  const std::string path = root.Path("x.png");
  ASSERT_TRUE(ReadUnchanged(path).ok());
  for (const std::string& then : {Shot(1) + "more", std::string("less")}) {
    root.Put("x.png", Shot(1));
    const absl::Status status = ReadUnchanged(path, [&] { root.Put("x.png", then); }).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(Message(status), path + ": changed while it was read");
  }
}

void PutPetsTar(const DataRoot& root) { root.Put("pets/all.tar", PetsTar()); }

TEST(BrokenImagesTest, TarsAreRefusedWithTheReason) {
  const std::string tar = PetsTar();
  const std::string at = "ROOT/pets/all.tar";
  const auto with = [&](std::string what, test::TarEntry entry, const std::string& message) {
    return Broken{std::move(what), Put("pets/zzz.tar", Tar({std::move(entry)})),
                  "ROOT/pets/zzz.tar" + message};
  };
  std::string sum = tar;
  sum[520] = '\x01';
  ExpectRefused(
      PutPetsTar, PetsSettings(),
      {
          {"no tar", Put("pets/all.tar", std::string(2000, 'x')),
           at + ": not a tar file: Unrecognized archive format"},
          {"empty", Put("pets/all.tar", ""), at + ": not a tar file: Unrecognized archive format"},
          {"without entries", Put("pets/all.tar", std::string(1024, '\0')),
           at + ": a tar file without entries"},
          {"compressed", Put("pets/all.tar", Gzip(tar)),
           at + ": not a tar file: Unrecognized archive format"},
          {"cut in an entry", Put("pets/all.tar", tar.substr(0, 1100)),
           at + ": a damaged tar file: Truncated input file (needed 512 bytes, only 76 available)"},
          {"cut between two entries", Put("pets/all.tar", tar.substr(0, tar.size() - 1024)),
           at + ": it ends early, without the zeros that end a tar file"},
          {"two in one", Put("pets/all.tar", tar + tar),
           at + ": something follows the end of the tar file"},
          {"a damaged header", Put("pets/all.tar", sum),
           at + ": a damaged tar file: Damaged tar archive"},
          with("an absolute path", {"/train/cat/9.png", Shot(9)},
               ":/train/cat/9.png: an absolute path; expected one from the folder"),
          with("a path that leaves", {"train/../../9.png", Shot(9)},
               ":train/../../9.png: the path has a part '..'; expected a name"),
          with("an empty part", {"train//9.png", Shot(9)},
               ":train//9.png: the path has a part ''; expected a name"),
          with("a symbolic link", {"train/cat/9.png", "", '2', "1.png"},
               ":train/cat/9.png: a link; expected plain files and folders"),
          with("a hard link", {"train/cat/9.png", "", '1', "train/cat/1.png"},
               ":train/cat/9.png: a link; expected plain files and folders"),
          with("a device", {"train/cat/9.png", "", '3'},
               ":train/cat/9.png: neither a plain file nor a folder"),
          with("a sparse file", {"train/cat/9.png", std::string(512, 'x'), 'S'},
               ":train/cat/9.png: a sparse file; expected plain files and folders"),
          with("a name that is not UTF-8", {"train/cat/\xfe.png", Shot(9)},
               ":train/cat/?.png: its name is not UTF-8"),
          with("twice", {"train/cat/1.png", Shot(9)},
               ":train/cat/1.png: there already as ROOT/pets/all.tar:train/cat/1.png"),
          {"twice in one",
           Put("pets/all.tar", Tar({{"train/cat/1.png", ""}, {"train/cat/1.png", ""}})),
           at + ":train/cat/1.png: there already as ROOT/pets/all.tar:train/cat/1.png"},
          with("a broken picture", {"train/cat/9.png", "no picture"},
               ":train/cat/9.png: it begins with 6e 6f 20 70: neither a JPEG (ff d8 ff) nor a PNG "
               "(89 50 4e 47)"),
      });
}

// The head of an entry that says it has so many bytes, and nothing behind it.
std::string TarThatPromises(int64_t bytes) {
  std::string tar = Tar({{"train/cat/9.png", ""}});
  const auto octal = [&](size_t at, size_t digits, int64_t value) {
    for (size_t i = digits; i-- > 0; value /= 8) tar[at + i] = static_cast<char>('0' + value % 8);
  };
  octal(124, 11, bytes);
  tar.replace(148, 8, 8, ' ');
  int64_t sum = 0;
  for (const char c : tar.substr(0, 512)) sum += static_cast<unsigned char>(c);
  octal(148, 6, sum);
  tar[154] = '\0';
  return tar;
}

// Of 64 MiB the entry is taken; whether the bytes are there is another question.
TEST(BrokenImagesTest, AnEntryOfATarIsAsLargeAsAFileMayBe) {
  constexpr int64_t kMost = int64_t{64} << 20;
  const DataRoot root;
  const std::string shard = root.Path("all.tar");
  std::vector<std::string> taken;
  const auto list = [&](int64_t bytes) {
    root.Put("all.tar", TarThatPromises(bytes));
    taken.clear();
    return Message(ListShard(shard, [&](const std::string& path) {
      taken.push_back(path);
      return absl::OkStatus();
    }));
  };
  (void)list(kMost);
  EXPECT_EQ(taken, std::vector<std::string>{"train/cat/9.png"});
  EXPECT_EQ(list(kMost + 1), shard + ":train/cat/9.png: 67108865 bytes; expected at most 67108864");
  EXPECT_TRUE(taken.empty());
}

TEST(BrokenImagesTest, TablesAreRefusedWithFileAndLine) {
  const std::string good = kFaces;
  const std::string at = "ROOT/faces/labels.csv";
  const auto with = [&](std::string what, std::string_view from, std::string_view to,
                        const std::string& message) {
    return Broken{std::move(what), Put("faces/labels.csv", Replaced(good, from, to)), at + message};
  };
  const auto whole = [&](std::string what, std::string text, const std::string& message) {
    return Broken{std::move(what), Put("faces/labels.csv", std::move(text)), message};
  };
  ExpectRefused(
      PutFaces, FacesSettings(),
      {
          whole("empty", "", at + ":1: an empty file; expected a line of column names"),
          whole("a BOM", "\xef\xbb\xbf" + good, at + ":1: it begins with a BOM; expected none"),
          whole("header alone", "file,split,smiling,old,city,age\n",
                "ROOT/faces/a.png: no line of it in " + at),
          with("no column file", "file,", "name,",
               ":1: no column file; there are name, split, smiling, old, city, age"),
          with("no column split", "split", "part",
               ":1: no column split; there are file, part, smiling, old, city, age"),
          with("a column twice", "old", "smiling", ":1: column smiling is there twice"),
          with("a column without a name", "old", "", ":1: column 4 has no name"),
          with("too few cells", "a.png,train,1,0,Bern,30", "a.png,train,1,0,Bern",
               ":2: 5 cells; expected 6"),
          with("too many cells", "a.png,train,1,0,Bern,30", "a.png,train,1,0,Bern,30,",
               ":2: 7 cells; expected 6"),
          with("an empty line", "\nd.png", "\n\nd.png", ":5: an empty line"),
          with("a quote that does not end", "\"Bern, old town\"", "\"Bern",
               ":3: a quoted cell that does not end on its line"),
          with("text behind a quote", "\"Bern, old town\"", "\"Bern\"x",
               ":3: text after the end of a quoted cell"),
          with("a quote within", "Oslo", "Os\"lo", ":4: a quote within a cell that is not quoted"),
          with("not UTF-8", "Oslo", "Osl\xf8", ":4: not UTF-8"),
          with("a byte 0", "Oslo", std::string_view("Osl\0", 4), ":4: a byte 0"),
          with("a long cell", "Oslo", std::string(201, 'o'),
               ":4: a cell of 201 bytes; expected at most 200"),
          with("a huge line", "Oslo", std::string(70000, 'o'),
               ":4: 70019 bytes; expected at most 65536"),
          with("1,001 columns", "file,", std::string(1000, ',') + "file,",
               ":1: more than 1000 columns"),
          with("another split", "a.png,train", "a.png,valid",
               ":2: split 'valid'; expected train, test or unused"),
          with("a path that leaves", "a.png", "../a.png",
               ":2: file: the path has a part '..'; expected a name"),
          with("an absolute path", "a.png", "/a.png",
               ":2: file: an absolute path; expected one from the folder"),
          with("an empty path", "a.png", "", ":2: file: an empty path"),
          with("no such picture", "a.png", "z.png", ":2: z.png: no such picture in ROOT/faces"),
          with("a picture twice", "b.png", "a.png", ":3: a.png: there already in line 2"),
          with("an attribute of neither", "train,1,0", "train,2,0",
               ":2: smiling is '2'; expected 0 or 1"),
          with("an attribute missing", "train,1,0", "train,,0",
               ":2: smiling is ''; expected 0 or 1"),
          with("a group missing", "Bern,30", ",30", ":2: city is empty"),
          with("a group that is none", "Bern,30", "NaN,30", ":2: city is 'NaN'; expected a value"),
          {"a picture without a line", Put("faces/h.png", Shot(8)),
           "ROOT/faces/h.png: no line of it in " + at},
          {"no picture of a line", Remove("faces/d.png"),
           at + ":5: d.png: no such picture in ROOT/faces"},
      });
}

TEST(BrokenImagesTest, ColumnsThatAreNotThereAreNamed) {
  DataRoot root;
  PutFaces(root);
  const auto refusal = [&](const std::string& labels, const std::string& groups, bool attributes) {
    return Message(Load(root, {.name = "faces",
                               .image_size = 8,
                               .labels = labels,
                               .groups = groups,
                               .attributes = attributes})
                       .status());
  };
  const std::string there =
      " in " + root.path() + "/faces/labels.csv; there are smiling, old, city, age";
  EXPECT_EQ(refusal("", "", false), "data.labels: no column 'label'" + there);
  EXPECT_EQ(refusal("smiling,Old", "", true), "data.labels: no column 'Old'" + there);
  EXPECT_EQ(refusal("smiling,,old", "", true), "data.labels: no column ''" + there);
  EXPECT_EQ(refusal("old,old", "", true), "data.labels: 'old' is there twice");
  EXPECT_EQ(refusal("old", "town", true), "data.groups: no column 'town'" + there);
  EXPECT_EQ(refusal("old", "city,city", true), "data.groups: 'city' is there twice");
}

TEST(BrokenImagesTest, AClassThatIsNoneIsNamed) {
  DataRoot root;
  root.Put("x/a.png", Shot(1));
  root.Put("x/b.png", Shot(2));
  const auto refusal = [&](const std::string& table) {
    root.Put("x/labels.csv", table);
    return Message(Load(root, {.name = "x", .image_size = 8}).status());
  };
  const std::string at = root.path() + "/x/labels.csv";
  EXPECT_EQ(refusal("file,split,label\na.png,train,nan\nb.png,test,1\n"),
            at + ":2: label is 'nan'; expected a value");
  EXPECT_EQ(refusal("file,split,label\na.png,train,1\nb.png,test,\n"), at + ":3: label is empty");
  EXPECT_EQ(refusal("file,split,label\na.png,train,1\nb.png,train,2\n"), at + ": no test pictures");
  EXPECT_EQ(refusal("file,split,label\na.png,test,1\nb.png,test,2\n"), at + ": no train pictures");
}

TEST(BrokenImagesTest, CelebasFilesAreRefusedWithFileAndLine) {
  const auto refusal = [](std::string_view attributes, std::string_view partition) {
    return Message(ParseCeleba({"A", "P", attributes, partition}).status());
  };
  const std::string_view parts = "1.jpg 0\n2.jpg 2\n";
  EXPECT_EQ(refusal("2\nM Y\n1.jpg 1 1\n2.jpg 1 -1\n", parts), "");
  EXPECT_EQ(refusal("two\nM Y\n", parts), "A:1: expected the number of pictures");
  EXPECT_EQ(refusal("2\n\n", parts), "A:2: 0 attributes; expected 1 to 1000");
  EXPECT_EQ(refusal("2\nM M\n", parts), "A:2: column M is there twice");
  EXPECT_EQ(refusal("2\nM Y\n1.jpg 1\n", parts), "A:3: 2 values; expected a file and 2 attributes");
  EXPECT_EQ(refusal("2\nM Y\n1.jpg 1 0\n", parts), "A:3: attribute 2 is '0'; expected 1 or -1");
  EXPECT_EQ(refusal("2\nM Y\n3.jpg 1 1\n", parts), "A:3: 3.jpg is not in P");
  EXPECT_EQ(refusal("3\nM Y\n1.jpg 1 1\n2.jpg 1 1\n", parts),
            "A:1: 3 pictures said; 2 lines follow");
  EXPECT_EQ(refusal("", "1.jpg 3\n"), "P:1: expected a file and 0, 1 or 2");
  EXPECT_EQ(refusal("", "1.jpg 0\n1.jpg 1\n"), "P:2: 1.jpg is there twice");
}

TEST(BrokenImagesTest, UtkFacesNamesAreRefused) {
  const auto refusal = [](const std::string& name) {
    return Message(TableOfUtkNames("F", {name}).status());
  };
  EXPECT_EQ(refusal("26_1_4_20170104.jpg.chip.jpg"), "");
  for (const char* name :
       {"a.jpg", "26_1_2017.jpg", "151_0_0_1.jpg", "26_2_0_1.jpg", "26_0_5_1.jpg", "-1_0_0_1.jpg",
        "026_0_0_1.jpg", "_0_0_1.jpg", "1_0_0_1_1.jpg"}) {
    EXPECT_EQ(refusal(name), std::string("F/") + name +
                                 ": expected AGE_GENDER_RACE_DATE.jpg, with 0 to 150, 0 or 1, and "
                                 "0 to 4");
  }
}

// Labels of pictures for training, each with a value of its own, and of one for tests.
absl::StatusOr<ImageLabels> LabelsOfValues(int64_t values, const ImageSettings& settings) {
  ImageTree tree{.folder = "F"};
  ImageTable table{.path = "T", .columns = {"many", "two"}};
  for (int64_t i = 0; i <= values; ++i) {
    const bool test = i == values;
    const std::string file = std::to_string(i) + ".png";
    tree.entries.push_back({file});
    table.rows.push_back({.file = file,
                          .part = test ? Subset::kTest : Subset::kTrain,
                          .cells = {std::to_string(test ? 0 : i), i % 2 == 0 ? "0" : "1"},
                          .line = i + 1});
  }
  return LabelsOf(tree, table, settings);
}

// They are kept as numbers of 16 bits.
TEST(BrokenImagesTest, AColumnHasUpTo65535DifferentValues) {
  const ImageSettings classes{.labels = "many"}, groups{.labels = "two", .groups = "many"};
  const auto of_classes = LabelsOfValues(65535, classes);
  ASSERT_TRUE(of_classes.ok()) << of_classes.status();
  EXPECT_EQ(of_classes->classes.size(), 65535u);
  EXPECT_EQ(of_classes->label[65534], 65534);
  const auto of_groups = LabelsOfValues(65535, groups);
  ASSERT_TRUE(of_groups.ok()) << of_groups.status();
  EXPECT_EQ(of_groups->groups[0].values.size(), 65535u);
  EXPECT_EQ(of_groups->group[65534], 65534);
  for (const ImageSettings& settings : {classes, groups}) {
    EXPECT_EQ(Message(LabelsOfValues(65536, settings).status()),
              "T:65536: many has more than 65535 different values");
  }
}

}  // namespace
}  // namespace noisefloor::trainer
