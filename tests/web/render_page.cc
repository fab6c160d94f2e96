// Puts a study's JSON into the page: render_page STUDY.json PAGE.html TITLE
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

#include "coordinator/report/page.h"
#include "coordinator/web/page_bundle.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: render_page STUDY.json PAGE.html TITLE\n");
    return 2;
  }
  std::stringstream study;
  study << std::ifstream(argv[1]).rdbuf();
  std::ofstream page(argv[2], std::ios::binary);
  const auto findings =
      nlohmann::json::parse(study.str())["headlines"].get<std::vector<std::string>>();
  page << noisefloor::report::RenderPage(
      argv[3], findings, study.str(), noisefloor::web::PageScript(), noisefloor::web::PageStyle());
  page.close();
  return page.good() ? 0 : 1;
}
