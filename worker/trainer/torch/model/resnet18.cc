#include "worker/trainer/torch/model/model.h"

namespace noisefloor::trainer {

namespace {

struct Block {
  Conv conv1, conv2;
  BatchNorm bn1, bn2;
  bool projected = false;  // The shortcut is conv1x1 -> batch norm.
  Conv shortcut;
  BatchNorm shortcut_bn;

  at::Tensor operator()(const at::Tensor& x, const ForwardPass& pass) const {
    const at::Tensor around = projected ? shortcut_bn(shortcut(x), pass) : x;
    const at::Tensor inner = bn1(conv1(x), pass).relu_();
    return bn2(conv2(inner), pass).add_(around).relu_();
  }
};

// ResNet-18 for 32x32 images: 3x3 stem with 64 channels and no pool, two basic blocks in each of
// four stages (64, 128, 256, 512; stages after the first enter with stride 2), average pool 4x4,
// dense. 11,173,962 parameters on CIFAR-10, 11,220,132 on CIFAR-100.
class ResNet18 final : public Model {
 public:
  ResNet18(const ModelSettings& settings, const ModelShape& shape, at::Device device,
           const Model* shared)
      : Model(settings, device, shared) {
    stem_ = MakeConv("conv1", {.in = shape.channels, .out = 64, .bias = false});
    stem_bn_ = MakeBatchNorm("bn1", 64);
    int64_t channels = 64;
    for (int stage = 1; stage <= 4; ++stage) {
      const int64_t out = int64_t{32} << stage;
      for (int i = 0; i < 2; ++i) {
        const std::string name = "layer" + std::to_string(stage) + "." + std::to_string(i);
        blocks_.push_back(MakeBlock(name, channels, out, i == 0 && stage > 1 ? 2 : 1));
        channels = out;
      }
    }
    last_ = MakeDense("dense", channels, shape.classes);
  }

  at::Tensor Forward(const at::Tensor& images, const ForwardPass& pass) const override {
    const at::Tensor x = InParts(images, pass, [&](at::Tensor part) {
      part = stem_bn_(stem_(part), pass).relu_();
      for (const Block& block : blocks_) part = block(part, pass);
      return part;
    });
    return last_(at::avg_pool2d(x, {4, 4}).flatten(1));
  }

 private:
  Block MakeBlock(const std::string& name, int64_t in, int64_t out, int64_t stride) {
    Block block;
    block.conv1 =
        MakeConv(name + ".conv1", {.in = in, .out = out, .stride = stride, .bias = false});
    block.bn1 = MakeBatchNorm(name + ".bn1", out);
    block.conv2 = MakeConv(name + ".conv2", {.in = out, .out = out, .bias = false});
    block.bn2 = MakeBatchNorm(name + ".bn2", out);
    block.projected = stride != 1 || in != out;
    if (block.projected) {
      block.shortcut =
          MakeConv(name + ".shortcut.conv",
                   {.in = in, .out = out, .kernel = 1, .stride = stride, .bias = false});
      block.shortcut_bn = MakeBatchNorm(name + ".shortcut.bn", out);
    }
    return block;
  }

  Conv stem_;
  BatchNorm stem_bn_;
  std::vector<Block> blocks_;
  Dense last_;
};

}  // namespace

std::unique_ptr<Model> MakeResNet18(const ModelSettings& settings, const ModelShape& shape,
                                    at::Device device, const Model* shared) {
  return std::make_unique<ResNet18>(settings, shape, device, shared);
}

}  // namespace noisefloor::trainer
