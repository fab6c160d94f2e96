#include <string>

#include "worker/trainer/torch/model/networks.h"

namespace noisefloor::trainer {

// A small vision transformer after Dosovitskiy and others (2021), for images of 32 x 32: patches of
// 4 x 4 pixels (a last row or column that fills none is left out), 192 channels, six blocks of
// attention with three heads and a hidden layer of 768, layer norm before each, the mean of the
// tokens in place of one that stands for the class (Beyer and others 2022). Positions are learned
// and begin normal with deviation 0.02. 2,693,194 parameters for 10 classes of 32 x 32 in colour.
void AddVisionTransformer(Sequence& net, int64_t classes) {
  constexpr int64_t kChannels = 192, kHidden = 768, kHeads = 3, kBlocks = 6;
  net.Conv("patches", {.out = kChannels, .kernel = 4, .stride = 4, .pads = false});
  // Products of matrices may depend on their number of rows: all that follows sees whole batches.
  net.WholeBatch().Tokens().AddPositions("positions").Dropout("dropout");
  for (int64_t i = 1; i <= kBlocks; ++i) {
    Sequence attention = net.Branch("block" + std::to_string(i));
    attention.LayerNorm("norm1").Attention("attention", kHeads).Dropout("dropout1");
    net.Add(attention, net.Branch());
    Sequence hidden = net.Branch("block" + std::to_string(i));
    hidden.LayerNorm("norm2").Dense("dense1", kHidden).Gelu();
    hidden.Dense("dense2", kChannels).Dropout("dropout2");
    net.Add(hidden, net.Branch());
  }
  net.LayerNorm("norm").MeanToken().Dense("dense", classes);
}

}  // namespace noisefloor::trainer
