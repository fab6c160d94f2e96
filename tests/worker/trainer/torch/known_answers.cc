#include "tests/worker/trainer/torch/known_answers.h"

#include <vector>

namespace noisefloor::trainer {

namespace {

struct PortableRow {
  std::string_view known_case;
  PortableAnswer answer;
};

const std::vector<PortableRow>& PortableRows() {
  static const std::vector<PortableRow> rows = {
      {"small_cnn",
       {"29361b7285f556a3bb951efc4de78f8640cc7ac5346246030c7644c061466efc",
        "4df04fa63eeb7332dc713516e7abf0fb483c23cd8618d7fb2a3ff571d8bb1f68"}},
      {"small_cnn_poked",
       {"29361b7285f556a3bb951efc4de78f8640cc7ac5346246030c7644c061466efc",
        "4df04fa63eeb7332dc713516e7abf0fb483c23cd8618d7fb2a3ff571d8bb1f68"}},
      {"small_cnn_full",
       {"e7e2e8fb13cc10be21525e3268481d603143f00c15d75f9244ec43884e3ceacf",
        "f580394730e3632412add95117cace2890a9392895a1792d272e4a8eef9d6763"}},
      {"small_cnn_colours",
       {"104740a6bd7c2884727e744414fec927890542a7aa2b71a7511a59d1355b090c",
        "69eedc6b94307286b2083b15405a984e26ccc7fab02574e2b0714d42731f9f0b"}},
      {"mlp_adam",
       {"ae49c50749d6a5da567c5f539fc76ea1962a286bc87044b8221c27aefb02b7a4",
        "9d598ae98d9e3fd93bc9a0ac04bbca2ce34a4479c25a4015dad01756d18db2cf"}},
      {"medium_cnn_dropout",
       {"3e00b5a41e593f8b414917e9288722257315ce67412e6d6ace248871422e5676",
        "0e1675ab0a056b8b7582b27ae67eec37a4ad05d2317208bbfb9179a4433c0891"}},
      {"resnet18",
       {"1a16ce7f6c8262d33537d01c03c2d87ae0d7de864ebede48e0b7b838d7355d17",
        "5e23c6ced28fb02102424da8b9f797e839f146430ec0734dda43e9cadda6561b"}},
  };
  return rows;
}

struct Row {
  std::string_view processor;  // Vendor, family and model, as /proc/cpuinfo says.
  std::string_view hardware_class;
  std::string_view known_case;
  Answer answer;
};

const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = {
      {"GenuineIntel 6 167",
       "cpu-intel-sse",
       "small_cnn",
       {"41906e8985cd338d1767a7e65249461059209c642de58b7b6e77bc778c2469e4",
        "52cec0eebf65edb6a6a5148c20764a7dc41a6cb038b038f7b3b7e8036deced18"}},
      {"GenuineIntel 6 167",
       "cpu-intel-avx2",
       "small_cnn",
       {"9d237ea736d3ff4ab9f8bc466a9a8c33d5268441ed67c261542dc8fe5df148db",
        "046bd5073c7c161372935534c9386824c6157686c0dd716b16465e969e8c3e45"}},
      {"GenuineIntel 6 167",
       "cpu-intel-avx512",
       "small_cnn",
       {"df6caf48b5a3770b5d1812a05dd56c3e48abc6dd3a67c9904a64e576448a759f",
        "1ff2e64604d47ad25a48142dcefb77b1d9f483b59a31cc4dc6a09724ebc3a26f"}},
      {"GenuineIntel 6 167",
       "cpu-intel-sse",
       "small_cnn_poked",
       {"4800eccafc003cf47c4a2be5c8a6135d6a61fef58e15324ad1ae9a04ce694a0f",
        "1cf957733887d2af27d5b3ec2767db2d0e05a13215a60f9b7eca7350024ed3e5"}},
      {"GenuineIntel 6 167",
       "cpu-intel-avx2",
       "small_cnn_poked",
       {"a41d79d0dd3cab31bf821e72c1fb81083db49acb7936362496f43813a0016a8a",
        "0e3682a39980b676219551314e9a8cfd2abe332bfc058783d967b8c59230f3da"}},
      {"GenuineIntel 6 167",
       "cpu-intel-avx512",
       "small_cnn_poked",
       {"d3222ec14bcb6546c0c1d03c2e452f6d3518f74ce65333429578b09397b5929c",
        "359f5c2b858b75c696fd2345ea0e27ba45621ba789297b3af45d440126b2a3c8"}},
      {"GenuineIntel 6 167",
       "cpu-intel-sse",
       "small_cnn_full",
       {"c37b1a19e0debd84da3bcea91e349af7567fa1406ee5f921f35fd1cc4d17b572",
        "0013df75e172d2ae9f174ccf50d05cbc0af1ad378abad280d7019b8237e996b7"}},
      {"GenuineIntel 6 167",
       "cpu-intel-avx2",
       "small_cnn_full",
       {"e1669fa5bf47d5d1a4ea50a0ffe993443bece07aac86bd3faf44dfd197f8ee8a",
        "bbf5666d557839578ad372ecfdb1f31ca9228dc9bdd179cad9e8c7ae65e5bb22"}},
      {"GenuineIntel 6 167",
       "cpu-intel-avx512",
       "small_cnn_full",
       {"79bc60180dbae2ec1849f538d98c235368e304364d97a0d59658081be504be71",
        "8f5ddaf0a4fd01c9dcbf01b89e8450f835df188c2d1105d916e18a4b9740145d"}},
      {"GenuineIntel 6 167",
       "cpu-intel-sse",
       "small_cnn_colours",
       {"d27f067ac59421c46b4b3a543d335ba1402a049020e99132ac98ea3347d23f4a",
        "b4c0da7e4248a373045a084a89345a82962a85271b6faa94880cdcdfad0bc9f6"}},
      {"GenuineIntel 6 167",
       "cpu-intel-avx2",
       "small_cnn_colours",
       {"1cb0b64f91a8ab7fd2a49b9149efac865fb1781fc4695621ba6b6139d3805820",
        "d79e760823d00ba7f1f1ca7101429f6535054cb92c1eba82beb1415a6168d1fb"}},
      {"GenuineIntel 6 167",
       "cpu-intel-avx512",
       "small_cnn_colours",
       {"2b78c85bf307235b11ecb9196ede74634ffa51f255a64e0bf117b5466ad806ba",
        "a73ad089b649d065cd974d6f67f9c5f83c795e8e3a48421a4e86db2cdbcf0e46"}},
      {"GenuineIntel 6 167",
       "cpu-intel-sse",
       "medium_cnn_dropout",
       {"e3e13f51db6e6ac542cc046a3ef7f7536f8f73dee78caef55d7f80b8ac034cdb",
        "3ea5e2760e633348df9dabdd49da92721c72d6dcbe5adc99937ebb8f0a9da337"}},
      {"GenuineIntel 6 167",
       "cpu-intel-avx2",
       "medium_cnn_dropout",
       {"d346cbf7950372c2604a4bf022fd79deb55b5dd73a86a84aa738c6a76f8e4149",
        "e03f5e2f198f0f95b12254d32dfd2e1ef99f10e2d7dece58e71eb3b99607047e"}},
      {"GenuineIntel 6 167",
       "cpu-intel-avx512",
       "medium_cnn_dropout",
       {"639dfbe013063935aea9bc37ac7f841f1824a359412c33f8e9962094fc5e7af5",
        "b6017bddb92886b4ba531f1d96effaef6b2249a97ce9b856cbe2b1be6d1355de"}},
      {"GenuineIntel 6 167",
       "cpu-intel-sse",
       "resnet18",
       {"c8403b6f44df88f86d5d85712231e8c9c8cd41f7377ea5afd0defdb609eb3b21",
        "1390002e9614e707c0c549ec68f5055b5720b7020e447c7c964360406a9496f5"}},
      {"GenuineIntel 6 167",
       "cpu-intel-avx2",
       "resnet18",
       {"01f2e2f3f4c1b7d255f142c289f66595dd34e41ea6f5cddaedc635d9ea0d2198",
        "26390f245119934862cf4ee9e723bd6ced3d3a1abe98e755f96ef10f90d35383"}},
      {"GenuineIntel 6 167",
       "cpu-intel-avx512",
       "resnet18",
       {"d5a84ca917be73bb3c585a6575109a30e5e3b9b207b115a83a993b6ee3a1497c",
        "b7a0ec81eef394d27dc78c26be51731889775820ce902f5aecfa19cfcc7efdc1"}},
      {"GenuineIntel 6 167",
       "cpu-intel-sse",
       "mlp_adam",
       {"45fe24a6df5ca54e255978cd1659ad58b3f9b275e463fd02ba969f6654f2b70c",
        "1b5be53c233b3fcfb0eb74690454366ecdaaaa5776e19d4d9365872d92efed84"}},
      {"GenuineIntel 6 167",
       "cpu-intel-avx2",
       "mlp_adam",
       {"6febbe82c225be4aae085cdf3e147c73174a239af967c1fb4ac2020ce7893cea",
        "c47e996137e18f804a0946c2a7e85c9d4aa7b07be23cd386d8257a2135f21346"}},
      {"GenuineIntel 6 167",
       "cpu-intel-avx512",
       "mlp_adam",
       {"293281c9939f89fd6727718a2f15fac3eea630fd6bb04a27169dc044db2f2d06",
        "1370808b5b93663d0f62fcbf1ecfe4aed60acf1d643b5a890cfe5c39ec3592f0"}},
      {"AuthenticAMD 26 2",
       "cpu-amd-avx512",
       "small_cnn",
       {"cdd110fb1363ee7414e855d10cf4753389eba979d0e0d0d23bb46ce6e3abb740",
        "6fc94d7a468096a561009814001ee3b6dc2dd103b8efd0ee1d1c3f36ecdd333d"}},
      {"AuthenticAMD 26 2",
       "cpu-amd-avx2",
       "small_cnn",
       {"deb1c9a5da1be8c546bf2502e0a1281d23fae5e56d6a1a4ce4b75c5a414eb735",
        "887025988ce5e69029afec265d9910defc42517c8fb58a48af59f328bbdaff26"}},
      {"AuthenticAMD 26 2",
       "cpu-amd-sse",
       "small_cnn",
       {"41906e8985cd338d1767a7e65249461059209c642de58b7b6e77bc778c2469e4",
        "f0d3f660d918e7767c51356771e8ebaa11ffafc959e3ed2fcd8e19d3fd70eced"}},
      {"AuthenticAMD 26 2",
       "cpu-amd-avx512",
       "small_cnn_poked",
       {"e7e5fc65aa225a29133b70ee8c9ddcaf5aa6b8799b3adeeb329e292cbba73bd9",
        "b46c2ac16cef42fc19b1d7ad0c791b68eb4f090bc5dc59d806e053856b98e3a5"}},
      {"AuthenticAMD 26 2",
       "cpu-amd-avx2",
       "small_cnn_poked",
       {"0de1f7b132b1f7dddd12b672daeb839b718d7f7ea8e9e59751c5e45af5e2d4a6",
        "697e8f2ea89f4733b4cd51b93b4db4d196d3cf64c24f1cf8ec3b4b502a4afe72"}},
      {"AuthenticAMD 26 2",
       "cpu-amd-sse",
       "small_cnn_poked",
       {"ce17499cee4f5760c7f40b5e29dd872ee345a6bca1b7f2e085d390e02fcd0c91",
        "e695528abf2ff541fdd0a4e5300dd9a69ceacf31f3988d8efe0f71b1c4ba4177"}},
      {"AuthenticAMD 26 2",
       "cpu-amd-avx512",
       "small_cnn_full",
       {"d80283edc2898031fb4b1089ac2abd24caaf3448a41e28ac30e8d339c9f21178",
        "337f0f93ff52d1260fa77b63c04222a445942b649b2a60f669d215385d220008"}},
      {"AuthenticAMD 26 2",
       "cpu-amd-avx2",
       "small_cnn_full",
       {"18680b1b22c2ecc2f86dab81677bad02ed390d26743f78225e35f2f76435c390",
        "3818acb42422bedcf400bbb7a92108740a6e70383e2e69aea51cc5f4b621198c"}},
      {"AuthenticAMD 26 2",
       "cpu-amd-sse",
       "small_cnn_full",
       {"d7d9d5e161275eb958fb62522021f2a6d293e5d157aca267cf8cd2607a858f48",
        "f2532c7d300a83380b8fdd0746556ccde15ead2e2d3351eb468fc76e692a1301"}},
      {"AuthenticAMD 26 2",
       "cpu-amd-avx512",
       "small_cnn_colours",
       {"0a52fd159ab87083b9ceedc98281cda97f00568533842867159a0a5171d6efbf",
        "cd29660fe99ee73f6f3344488815b371a06770518c97a7608038201c984c2227"}},
      {"AuthenticAMD 26 2",
       "cpu-amd-avx2",
       "small_cnn_colours",
       {"81101d720f5fa0ffaa235d5ad4ebb9d3bf49a3e717a3d6ff7fe4b87b5f1367cc",
        "d5f2b3300ec579ddd50fa8e79187e56a7b6ecffea4f0dd8aa861b52398788664"}},
      {"AuthenticAMD 26 2",
       "cpu-amd-sse",
       "small_cnn_colours",
       {"203046f94de56f10fe3a77f9f0ead7fd2e246734e87cb428e27c3c92f3df50e2",
        "6a782bade176ce206b2d5c12d729bc8cfb4176e99621661e89c87567334386f4"}},
      {"AuthenticAMD 26 2",
       "cpu-amd-avx512",
       "mlp_adam",
       {"c9a90e23e49dea1c8cb4f23a3aa336960ba5b6d04b7a13be8226748d437c0277",
        "5acf0b000e9675daf526d172c3c8e66624d65ebc8b5c742dc2dad6cc637c9c6c"}},
      {"AuthenticAMD 26 2",
       "cpu-amd-avx2",
       "mlp_adam",
       {"c0a9bbb4f9a72179c64f77cf85761e65ac0121ecc72dc4f3f646a8f73c359f6e",
        "e51f5e539c2aa3366bf0404181efeb3648f0c28b80096c5ca84e6b72dd1b3e53"}},
      {"AuthenticAMD 26 2",
       "cpu-amd-sse",
       "mlp_adam",
       {"de8bf4cab6220b606e9e19762b2a0b9eabdba3da4bf068ef1407cccdb29f1117",
        "398b4b2b78aea3d1385255ef33826ca9ef6eaef7238789163447d952bd464b8a"}},
      {"AuthenticAMD 26 2",
       "cpu-amd-avx512",
       "medium_cnn_dropout",
       {"2c08644f1db43896c7538b448f213a4804380bf98ef7bf1be90420f648dc4015",
        "289df8d3bd4c64651eb4d5dffa54dd9e8089a38770c500971da4491a78651d85"}},
      {"AuthenticAMD 26 2",
       "cpu-amd-avx2",
       "medium_cnn_dropout",
       {"eec2b48a94e2ab506940b43207bf85e0004ea59b5ebceb92bbdd717a5dca1fba",
        "8bfd6e2c59717552225c48ccfd5e7bff3d80bc064eab6e7215c21013996292a4"}},
      {"AuthenticAMD 26 2",
       "cpu-amd-sse",
       "medium_cnn_dropout",
       {"a265de684d87c70d35e37db4911b7c1c5be47301248d2523029728cebbaee1f3",
        "6028c1cb6c6312e12af11666aa8a693d1e39c276546e407701c3978ee7aca765"}},
      {"AuthenticAMD 26 2",
       "cpu-amd-avx512",
       "resnet18",
       {"50aab135e5f9533029c2fe1d1fbb37bd0fe5b13eb25440cf47578cbc4fbc831b",
        "8357a58f3ad9dce6ddc9b22df82e7750facdae06c375b5b0e3ce8e1a19cd88ed"}},
      {"AuthenticAMD 26 2",
       "cpu-amd-avx2",
       "resnet18",
       {"b95e3e2da1cba0be46d50944d25f27f520ada2d75e11b61417c197f940027ccb",
        "6b26a761ffdaa0cb73ef813841f8ef53c6569e4d5018eed55f1af32b9d040792"}},
      {"AuthenticAMD 26 2",
       "cpu-amd-sse",
       "resnet18",
       {"83e999f0ad1525ca6824e3675fec8db33073d1ea6054abdb439e9c54c39ee542",
        "2f094fc60d4805a5c8871e709427dbc09ad6bf626b8883a37f0b118067c53115"}},
  };
  return rows;
}

}  // namespace

std::optional<PortableAnswer> PortableAnswerOf(std::string_view known_case) {
  for (const PortableRow& row : PortableRows()) {
    if (row.known_case == known_case) return row.answer;
  }
  return std::nullopt;
}

std::optional<Answer> AnswerOf(std::string_view processor, std::string_view hardware_class,
                               std::string_view known_case) {
  for (const Row& row : Rows()) {
    if (row.processor == processor && row.hardware_class == hardware_class &&
        row.known_case == known_case) {
      return row.answer;
    }
  }
  return std::nullopt;
}

std::string RowOf(std::string_view processor, std::string_view hardware_class,
                  std::string_view known_case, const Answer& answer) {
  std::string row = "      {\"";
  row.append(processor).append("\", \"").append(hardware_class).append("\", \"");
  row.append(known_case).append("\",");
  return row.append("\n       {\"")
      .append(answer.weights)
      .append("\",\n        \"")
      .append(answer.logits)
      .append("\"}},\n");
}

}  // namespace noisefloor::trainer
