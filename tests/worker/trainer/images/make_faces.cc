// make-faces --data-root=DIR --to=DIR/faces [--from=cifar10 --train=N --test=N]: the pictures of
// deploy/sweeps/faces.yaml.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "tests/worker/trainer/images/faces.h"

int main(int argc, char** argv) {
  noisefloor::test::FacesOptions options;
  CLI::App app("Makes a folder of pictures with attributes and groups, of a data set that is here");
  app.add_option("--data-root", options.data_root, "where the data set lies")->required();
  app.add_option("--from", options.from, "the data set")->capture_default_str();
  app.add_option("--to", options.to, "the folder; expected to be empty or new")->required();
  app.add_option("--train", options.train, "pictures to train on")->capture_default_str();
  app.add_option("--test", options.test, "pictures to test on")->capture_default_str();
  app.add_option("--side", options.side, "their side in pixels")->capture_default_str();
  app.add_option("--seed", options.seed, "of what is drawn")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const absl::Status made = noisefloor::test::MakeFaces(options);
  if (made.ok()) return 0;
  std::fprintf(stderr, "make-faces: %s\n", noisefloor::Message(made).c_str());
  return 1;
}
