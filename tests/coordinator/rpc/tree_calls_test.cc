// Data sets of the coordinator's own roots, for workers that lack them.
#include <filesystem>
#include <fstream>
#include <memory>

#include "common/cache/tree.h"
#include "tests/coordinator/rpc/coordinator_fixture.h"

namespace noisefloor::test {
namespace {

namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::HasSubstr;
using Code = absl::StatusCode;

class TreeCallsTest : public CoordinatorTest {
 protected:
  TreeCallsTest() {
    Serve({Root("empty"), Root("full")});
    Put("full/mnist/train-images-idx3-ubyte", std::string((3 << 20) + 17, 'i'));
    Put("full/mnist/train-labels-idx1-ubyte", "labels");
    Put("full/mnist/t10k-images-idx3-ubyte.gz", "packed");
    Put("full/mnist/t10k-labels-idx1-ubyte", "t10k");
    Put("full/mnist/notes.txt", "of no layout");
  }

  std::string Root(const std::string& name) const { return roots_.path() + "/" + name; }
  void Serve(std::vector<std::string> roots) {
    data_roots_ = std::move(roots);
    Restart();
  }
  void Put(const std::string& path, const std::string& content) const {
    fs::create_directories(fs::path(Root(path)).parent_path());
    std::ofstream(Root(path), std::ios::binary) << content;
  }

  absl::StatusOr<v1::DescribeTreeResponse> DescribeStack(const std::string& stack) {
    return Describe("", stack);
  }
  absl::StatusOr<v1::DescribeTreeResponse> Describe(const std::string& data_set,
                                                    const std::string& stack = "") {
    v1::DescribeTreeRequest request;
    request.set_data_set(data_set);
    request.set_stack(stack);
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::DescribeTreeResponse response;
    const absl::Status status = FromGrpc(workers_->DescribeTree(&context, request, &response));
    if (!status.ok()) return status;
    return response;
  }
  absl::StatusOr<std::string> Read(const std::string& identity, const std::string& path,
                                   uint64_t offset = 0) {
    v1::ReadTreeRequest request;
    request.set_identity(identity);
    request.set_path(path);
    request.set_offset(offset);
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    const auto reader = workers_->ReadTree(&context, request);
    std::string content;
    for (v1::ReadTreeResponse piece; reader->Read(&piece);) {
      EXPECT_LE(piece.piece().size(), size_t{1} << 20);
      content += piece.piece();
    }
    const absl::Status status = FromGrpc(reader->Finish());
    if (!status.ok()) return status;
    return content;
  }
  // Two files may be read at one time, of which one is more than lies between two programs.
  void LetTwoStand() {
    fs::resize_file(Root("full/mnist/train-images-idx3-ubyte"), 100 << 20);
    max_tree_reads_ = 2;
    Restart();
  }
  static std::vector<std::string> Paths(const v1::DescribeTreeResponse& described) {
    std::vector<std::string> paths;
    for (const v1::TreeFile& file : described.files()) paths.push_back(file.path());
    return paths;
  }

  TempHome roots_;
};

TEST_F(TreeCallsTest, ADataSetIsDescribedByContentAndReadFromAnyByte) {
  const auto described = Describe("mnist");
  ASSERT_TRUE(described.ok()) << described.status();
  EXPECT_THAT(Paths(*described),
              ElementsAre("mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-labels-idx1-ubyte",
                          "mnist/train-images-idx3-ubyte", "mnist/train-labels-idx1-ubyte"));
  Tree tree;
  for (const v1::TreeFile& file : described->files()) {
    const auto content = Read(described->identity(), file.path());
    ASSERT_TRUE(content.ok()) << content.status();
    EXPECT_EQ(content->size(), file.size());
    EXPECT_EQ(Sha256Hex(*content), file.sha256());
    tree.files.push_back({file.path(), file.size(), file.sha256()});
  }
  EXPECT_TRUE(CheckTree(tree).ok());
  EXPECT_EQ(IdentityOf(tree), described->identity());
  EXPECT_EQ(*Read(described->identity(), "mnist/train-labels-idx1-ubyte", 2), "bels");
  EXPECT_EQ(*Read(described->identity(), "mnist/train-labels-idx1-ubyte", 6), "");
  EXPECT_EQ(Read(described->identity(), "mnist/train-images-idx3-ubyte", 17)->size(), 3u << 20);
}

TEST_F(TreeCallsTest, AFolderOfOwnImagesIsServedWholeWhenItHasATable) {
  Put("full/faces/img/b.jpg", "b");
  Put("full/faces/a.tar", "a");
  EXPECT_EQ(Describe("faces").status().code(), Code::kNotFound);
  Put("full/faces/labels.csv", "file,split\n");
  const auto described = Describe("faces");
  ASSERT_TRUE(described.ok()) << described.status();
  EXPECT_THAT(Paths(*described), ElementsAre("faces/a.tar", "faces/img/b.jpg", "faces/labels.csv"));
  EXPECT_EQ(*Read(described->identity(), "faces/img/b.jpg"), "b");
  // A table makes nothing else of a set that is known.
  Put("empty/mnist/labels.csv", "file,split\n");
  EXPECT_THAT(Paths(*Describe("mnist")), testing::SizeIs(4));
}

TEST_F(TreeCallsTest, AFolderOfOnesOwnCountsWhenItIsLaidOutAsOneThatIsKnown) {
  for (const char* split : {"train", "test"}) {
    Put(std::string("full/own-set/") + split + ".bin", split);
  }
  Put("full/no-set/readme", "x");
  const auto described = Describe("own-set");
  ASSERT_TRUE(described.ok()) << described.status();
  EXPECT_THAT(Paths(*described), ElementsAre("own-set/test.bin", "own-set/train.bin"));
  EXPECT_EQ(Describe("no-set").status().code(), Code::kNotFound);
}

TEST_F(TreeCallsTest, AStackIsAllFilesOfItsFolderWithWhatLinksLeadTo) {
  Put("stacks/torch-2.7/libexec/trainer", "program");
  fs::permissions(Root("stacks/torch-2.7/libexec/trainer"), fs::perms::owner_all);
  Put("elsewhere/torch/lib/libtorch.so", "library");
  fs::create_directory_symlink(Root("elsewhere/torch"), Root("stacks/torch-2.7/torch"));
  fs::create_directories(Root("stacks/nothing"));
  stack_roots_ = {Root("no-stacks"), Root("stacks")};
  Restart();

  const auto described = DescribeStack("torch-2.7");

  ASSERT_TRUE(described.ok()) << described.status();
  EXPECT_THAT(Paths(*described), ElementsAre("libexec/trainer", "torch/lib/libtorch.so"));
  EXPECT_TRUE(described->files(0).executable());
  EXPECT_FALSE(described->files(1).executable());
  EXPECT_EQ(described->files(1).sha256(), Sha256Hex("library"));
  EXPECT_EQ(*Read(described->identity(), "torch/lib/libtorch.so", 3), "rary");

  Put("elsewhere/torch/lib/libtorch.so", "another");
  EXPECT_EQ(Read(described->identity(), "torch/lib/libtorch.so").status().code(),
            Code::kFailedPrecondition);
  EXPECT_NE(DescribeStack("torch-2.7")->identity(), described->identity());

  for (const std::string name : {"..", "../stacks/torch-2.7", ".hidden", "torch-2.7/libexec"}) {
    EXPECT_EQ(DescribeStack(name).status().code(), Code::kInvalidArgument) << name;
  }
  EXPECT_EQ(Message(DescribeStack("nothing").status()),
            "the coordinator has no folder nothing with a stack in " + Root("no-stacks") + ", " +
                Root("stacks") + " (serve --stack-root)");
  EXPECT_EQ(Describe("mnist", "torch-2.7").status().code(), Code::kInvalidArgument);
}

TEST_F(TreeCallsTest, WhatIsNotThereIsSaidWithItsPlaces) {
  const absl::Status status = Describe("cifar10").status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_EQ(Message(status),
            "the coordinator has no folder cifar-10-batches-bin with the files of "
            "a data set in " +
                Root("empty") + ", " + Root("full") + " (serve --data-root)");
  fs::remove(Root("full/mnist/train-labels-idx1-ubyte"));
  EXPECT_EQ(Describe("mnist").status().code(), Code::kNotFound) << "a file is missing";
  Serve({});
  EXPECT_THAT(Message(Describe("mnist").status()), HasSubstr("in any data root"));
}

TEST_F(TreeCallsTest, NamesAndPathsLeadNowhereElse) {
  Put("full/secret/train.bin", "secret");
  Put("full/secret/test.bin", "secret");
  Put("train.bin", "secret");
  Put("test.bin", "secret");
  for (const std::string name :
       {"", ".", "..", "../full", "../../etc/passwd", "/etc", "full/mnist", ".hidden"}) {
    EXPECT_EQ(Describe(name).status().code(), Code::kInvalidArgument) << name;
  }
  const auto described = Describe("mnist");
  ASSERT_TRUE(described.ok()) << described.status();
  for (const std::string path :
       {"", "mnist", "mnist/notes.txt", "mnist/../secret/train.bin", "secret/train.bin",
        "../../etc/passwd", "/etc/passwd", "mnist//train-labels-idx1-ubyte"}) {
    EXPECT_EQ(Read(described->identity(), path).status().code(), Code::kInvalidArgument) << path;
  }
  EXPECT_EQ(Read(described->identity(), "mnist/train-labels-idx1-ubyte", 7).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(Read("../../etc", "passwd").status().code(), Code::kFailedPrecondition);
}

TEST_F(TreeCallsTest, WhatChangedSinceIsNotReadButDescribedAnew) {
  const auto before = Describe("mnist");
  ASSERT_TRUE(before.ok()) << before.status();
  Put("full/mnist/train-labels-idx1-ubyte", "others");

  EXPECT_EQ(Read(before->identity(), "mnist/train-labels-idx1-ubyte").status().code(),
            Code::kFailedPrecondition);

  const auto after = Describe("mnist");
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_NE(after->identity(), before->identity());
  EXPECT_EQ(*Read(after->identity(), "mnist/train-labels-idx1-ubyte"), "others");
}

TEST_F(TreeCallsTest, AnotherCoordinatorWantsToBeAskedAgainAndSaysTheSame) {
  const auto before = Describe("mnist");
  ASSERT_TRUE(before.ok()) << before.status();
  Restart();
  EXPECT_EQ(Read(before->identity(), "mnist/train-labels-idx1-ubyte").status().code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(Describe("mnist")->identity(), before->identity());
  EXPECT_EQ(*Read(before->identity(), "mnist/train-labels-idx1-ubyte"), "labels");
}

// A reader that takes nothing: a part of the file stays on its way.
class Standing {
 public:
  Standing(v1::WorkerService::Stub& workers, const std::string& identity) {
    v1::ReadTreeRequest request;
    request.set_identity(identity);
    request.set_path("mnist/train-images-idx3-ubyte");
    SetDeadline(context_, kPatience);
    reader_ = workers.ReadTree(&context_, request);
  }
  ~Standing() {
    context_.TryCancel();
    (void)End();
  }
  // Of the first piece.
  bool Begins() {
    v1::ReadTreeResponse piece;
    return reader_->Read(&piece);
  }
  absl::Status End() {
    if (!reader_) return absl::OkStatus();
    v1::ReadTreeResponse piece;
    while (reader_->Read(&piece)) {
    }
    const absl::Status status = FromGrpc(reader_->Finish());
    reader_.reset();
    return status;
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::ReadTreeResponse>> reader_;
};

TEST_F(TreeCallsTest, MoreThanMayBeReadAtOnceAreTurnedAwayAndTheOthersGoOn) {
  LetTwoStand();
  const auto described = Describe("mnist");
  ASSERT_TRUE(described.ok()) << described.status();
  std::vector<std::unique_ptr<Standing>> readers;
  for (size_t i = 0; i < 2; ++i) {
    readers.push_back(std::make_unique<Standing>(*workers_, described->identity()));
    ASSERT_TRUE(readers.back()->Begins());
  }
  const absl::Status busy = Read(described->identity(), "mnist/train-labels-idx1-ubyte").status();
  EXPECT_EQ(busy.code(), Code::kResourceExhausted) << busy;

  EXPECT_TRUE(readers.front()->End().ok());

  // Its end is heard here before it is counted there.
  absl::StatusOr<std::string> content = busy;
  while (absl::IsResourceExhausted(content.status())) {
    content = Read(described->identity(), "mnist/train-labels-idx1-ubyte");
  }
  ASSERT_TRUE(content.ok()) << content.status();
  EXPECT_EQ(*content, "labels");
}

TEST_F(TreeCallsTest, OneWhosePiecesNobodyTakesMakesWay) {
  stream_idle_ = absl::Milliseconds(300);
  LetTwoStand();
  const auto described = Describe("mnist");
  ASSERT_TRUE(described.ok()) << described.status();
  std::vector<std::unique_ptr<Standing>> readers;
  for (size_t i = 0; i < 2; ++i) {
    readers.push_back(std::make_unique<Standing>(*workers_, described->identity()));
    ASSERT_TRUE(readers.back()->Begins());
  }

  absl::StatusOr<std::string> content = absl::ResourceExhaustedError("not asked yet");
  while (absl::IsResourceExhausted(content.status())) {
    content = Read(described->identity(), "mnist/train-labels-idx1-ubyte");
  }

  EXPECT_TRUE(content.ok()) << content.status();
  int ended = 0;
  for (const auto& reader : readers) ended += absl::IsCancelled(reader->End());
  EXPECT_GT(ended, 0);
}

}  // namespace
}  // namespace noisefloor::test
