#include <string>

#include "worker/trainer/torch/model/networks.h"

namespace noisefloor::trainer {

namespace {

// A depthwise convolution and one of single pixels, then batch norm: "name.depthwise", ".point",
// ".bn".
void AddSeparable(Sequence& net, const std::string& name, int64_t out) {
  net.Depthwise(name + ".depthwise", {.bias = false});
  net.Conv(name + ".point", {.out = out, .kernel = 1, .bias = false}).BatchNorm(name + ".bn");
}

// Two separable convolutions and a pool beside conv1x1, both with stride 2. Only the first block of
// all has no ReLU before it: its images come from one.
void AddEntry(Sequence& net, const std::string& name, int64_t middle, int64_t out, bool relu) {
  Sequence inner = net.Branch(name);
  if (relu) inner.Relu();
  AddSeparable(inner, "1", middle);
  inner.Relu();
  AddSeparable(inner, "2", out);
  inner.MaxPool({.kernel = 3, .stride = 2, .pads = true});
  Sequence around = net.Branch(name);
  around.ConvBn("shortcut", {.out = out, .kernel = 1, .stride = 2});
  net.Add(inner, around);
}

}  // namespace

// Xception of Chollet (2017), as Keras has it. 22,855,952 parameters for 1000 classes; with
// statistics Keras' 22,910,480.
void AddXception(Sequence& net, int64_t classes) {
  net.ConvBn("stem1", {.out = 32, .stride = 2, .pads = false}).Relu();
  net.ConvBn("stem2", {.out = 64, .pads = false}).Relu();
  AddEntry(net, "entry1", 128, 128, /*relu=*/false);
  AddEntry(net, "entry2", 256, 256, /*relu=*/true);
  AddEntry(net, "entry3", 728, 728, /*relu=*/true);
  for (int i = 1; i <= 8; ++i) {
    Sequence inner = net.Branch("middle" + std::to_string(i));
    for (const char* name : {"1", "2", "3"}) {
      inner.Relu();
      AddSeparable(inner, name, 728);
    }
    net.Add(inner, net.Branch());
  }
  AddEntry(net, "exit1", 728, 1024, /*relu=*/true);
  AddSeparable(net, "exit2", 1536);
  net.Relu();
  AddSeparable(net, "exit3", 2048);
  net.Relu().WholeBatch().Mean().Dense("dense", classes);
}

}  // namespace noisefloor::trainer
