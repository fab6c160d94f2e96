// The products: the embedded modules, and the PTX of the same sources.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <span>
#include <sstream>
#include <string>

#include "tests/worker/trainer/cuda/ptx_scan.h"
#include "worker/trainer/cuda/cubins.h"
#include "worker/trainer/cuda/kernel_table.h"

namespace noisefloor::cuda {

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

std::string PtxOf(int architecture) {
  std::ifstream file(std::string(COMPILED_KERNELS) + "/compute_" + std::to_string(architecture) +
                     ".ptx");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// A module as a file of ELF.
class Module {
 public:
  explicit Module(std::span<const unsigned char> code) : code_(code) {}

  template <typename T>
  T At(size_t place) const {
    T value;
    std::memcpy(&value, code_.subspan(place, sizeof(T)).data(), sizeof(T));
    return value;
  }
  Elf64_Shdr Section(size_t number) const {
    const auto header = At<Elf64_Ehdr>(0);
    return At<Elf64_Shdr>(header.e_shoff + number * header.e_shentsize);
  }
  // Of no size when there is none.
  Elf64_Shdr Section(std::string_view name) const {
    const auto header = At<Elf64_Ehdr>(0);
    const Elf64_Shdr names = Section(header.e_shstrndx);
    for (size_t number = 0; number < header.e_shnum; ++number) {
      const Elf64_Shdr section = Section(number);
      if (TextAt(names.sh_offset + section.sh_name) == name) return section;
    }
    return {};
  }
  std::string NameOfSymbol(size_t number) const {
    const Elf64_Shdr symbols = Section(".symtab");
    const auto symbol = At<Elf64_Sym>(symbols.sh_offset + number * sizeof(Elf64_Sym));
    return TextAt(Section(symbols.sh_link).sh_offset + symbol.st_name);
  }

 private:
  std::string TextAt(size_t place) const {
    return reinterpret_cast<const char*>(code_.subspan(place).data());
  }

  std::span<const unsigned char> code_;
};

// How many a thread of each kernel has. Section .nv.info: a format, an attribute and, of one byte
// or two, the value; of format 4 there the size of what follows, here a symbol and a number.
std::map<std::string, uint32_t> RegistersOf(const Module& module) {
  constexpr uint8_t kSized = 4, kRegisters = 0x2f;
  std::map<std::string, uint32_t> registers;
  const Elf64_Shdr info = module.Section(".nv.info");
  for (size_t at = info.sh_offset; at < info.sh_offset + info.sh_size;) {
    const bool sized = module.At<uint8_t>(at) == kSized;
    if (sized && module.At<uint8_t>(at + 1) == kRegisters) {
      registers[module.NameOfSymbol(module.At<uint32_t>(at + 4))] = module.At<uint32_t>(at + 8);
    }
    at += 4 + (sized ? module.At<uint16_t>(at + 2) : 0);
  }
  return registers;
}

bool IsNoisy(std::string_view name) {
  const auto& all = AllKernels();
  const auto found = std::ranges::find(all, name, &KernelFacts::name);
  return found != all.end() && found->noisy;
}

TEST(CompiledKernelsTest, ThereIsAModuleForEveryArchitecture) {
  const std::vector<Cubin> cubins = AllCubins();
  ASSERT_EQ(cubins.size(), kArchitectures.size());
  size_t bytes = 0;
  for (size_t i = 0; i < cubins.size(); ++i) {
    EXPECT_EQ(cubins[i].architecture, kArchitectures[i]);
    const auto code = cubins[i].code;
    ASSERT_GT(code.size(), 64u);
    EXPECT_EQ(std::memcmp(code.data(), "\177ELF", 4), 0);
    EXPECT_EQ(code[18] | code[19] << 8, 190) << "EM_CUDA";
    EXPECT_EQ(reinterpret_cast<uintptr_t>(code.data()) % 64, 0u);
    // The architecture in e_flags: at bits 0 to 7 in files of before Blackwell, at 8 to 15 in its
    // own.
    const int flags = code[48] | code[49] << 8;
    EXPECT_EQ(kArchitectures[i] >= 100 ? flags >> 8 & 0xff : flags & 0xff, kArchitectures[i]);
    for (const KernelFacts& facts : AllKernels()) {
      const std::string name = ".text." + std::string(facts.name);
      EXPECT_NE(std::search(code.begin(), code.end(), name.begin(), name.end()), code.end())
          << name;
    }
    bytes += code.size();
  }
  RecordProperty("bytes", static_cast<int>(bytes));
  EXPECT_LT(bytes, 2u << 20) << "every trainer carries them";
}

// A block of 1024 threads, which requests may ask for, has 65,536 registers on every GPU.
TEST(CompiledKernelsTest, TheLargestBlockHasTheRegistersItTakes) {
  for (const Cubin& cubin : AllCubins()) {
    std::map<std::string, uint32_t> registers = RegistersOf(Module(cubin.code));
    for (const KernelFacts& facts : AllKernels()) {
      const uint32_t own = registers[std::string(facts.name)];
      EXPECT_GT(own, 0u) << facts.name << " of " << cubin.architecture;
      EXPECT_LE(own, 64u) << facts.name << " of " << cubin.architecture;
    }
  }
}

TEST(CompiledKernelsTest, NoOperationIsLessThanWhatItSays) {
  std::vector<std::string> names, noisy;
  for (const KernelFacts& facts : AllKernels()) {
    names.emplace_back(facts.name);
    if (facts.noisy) noisy.emplace_back(facts.name);
  }
  for (const int architecture : kArchitectures) {
    const std::string text = PtxOf(architecture);
    EXPECT_THAT(text, HasSubstr("\n.target sm_" + std::to_string(architecture)));
    const PtxScan scan = ScanPtx(text, IsNoisy);
    EXPECT_THAT(scan.kernels, UnorderedElementsAreArray(names)) << architecture;
    EXPECT_THAT(scan.findings, IsEmpty()) << architecture;
    EXPECT_THAT(scan.atomics, UnorderedElementsAreArray(noisy)) << "noise that has no source";
  }
}

TEST(PtxScanTest, FindsEachOfWhatMayNotBeThere) {
  const auto scan = [](const std::string& line) {
    return ScanPtx(".visible .entry Quiet(\n)\n{\n" + line + "\n}\n", IsNoisy).findings;
  };
  for (const char* line :
       {"\tfma.rn.f32 \t%f1, %f2, %f3, %f4;", "\t@%p1 fma.rn.f64 %fd1, %fd2, %fd3, %fd4;",
        "\tmad.rn.f32 %f1, %f2, %f3, %f4;", "\tadd.f32 \t%f1, %f2, %f3;",
        "\t@!%p3 mul.f64 %fd1, %fd2, %fd3;", "\tmul.rn.ftz.f32 %f1, %f2, %f3;",
        "\tsetp.lt.ftz.f32 %p1, %f1, %f2;", "\tsqrt.approx.f32 %f1, %f2;",
        "\tdiv.full.f32 %f1, %f2, %f3;", "\tex2.approx.f32 %f1, %f2;",
        "\trsqrt.approx.ftz.f64 %fd1, %fd2;", "\tcvt.rn.f16.f32 %h1, %f1;",
        "\tatom.global.add.u32 %r1, [%rd1], 1;", "\tred.global.add.f32 [%rd1], %f1;"}) {
    EXPECT_THAT(scan(line), testing::Not(IsEmpty())) << line;
  }
  for (const char* line :
       {"\tadd.rn.f32 %f1, %f2, %f3;", "\tmad.lo.s32 %r1, %r2, %r3, %r4;",
        "\tadd.s64 %rd1, %rd2, 4;", "\tdiv.rn.f64 %fd1, %fd2, %fd3;", "\tsqrt.rn.f64 %fd1, %fd2;",
        "\tneg.f64 %fd1, %fd2;", "// fma.rn.f32 %f1, %f2, %f3, %f4;"}) {
    EXPECT_THAT(scan(line), IsEmpty()) << line;
  }
  EXPECT_THAT(ScanPtx(".visible .entry NoisySumRows(\n\tred.global.add.f32 [%rd1], %f1;\n", IsNoisy)
                  .atomics,
              ElementsAre("NoisySumRows"));
}

}  // namespace

}  // namespace noisefloor::cuda
