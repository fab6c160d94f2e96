// Compiles the kernels for every architecture, as a step of the build: no GPU, no toolkit, only
// NVRTC.
//
//   noisefloor-compile-kernels LIBNVRTC ROOT OUT
//
// Writes OUT/sm_XX.cubin, which the trainer embeds, OUT/compute_XX.ptx, which the tests scan, and
// OUT/cubins.cc, the table of both. Without contraction: a * b + c is two operations, as on the
// host.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "worker/trainer/cuda/kernel_table.h"

namespace noisefloor::cuda {

namespace {

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "noisefloor-compile-kernels: %s\n", why.c_str());
  std::exit(1);
}

// After NVIDIA's NVRTC documentation; declared here so that its header is not needed.
class Nvrtc {
 public:
  using Program = void*;

  explicit Nvrtc(const char* path) : library_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) Fail(dlerror());
    Find(version, "nvrtcVersion");
    Find(create, "nvrtcCreateProgram");
    Find(compile, "nvrtcCompileProgram");
    Find(destroy, "nvrtcDestroyProgram");
    Find(log_size, "nvrtcGetProgramLogSize");
    Find(log, "nvrtcGetProgramLog");
    Find(cubin_size, "nvrtcGetCUBINSize");
    Find(cubin, "nvrtcGetCUBIN");
    Find(ptx_size, "nvrtcGetPTXSize");
    Find(ptx, "nvrtcGetPTX");
  }

  int (*version)(int*, int*) = nullptr;
  int (*create)(Program*, const char*, const char*, int, const char* const*,
                const char* const*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  using SizeOf = int (*)(Program, size_t*);
  using Get = int (*)(Program, char*);
  SizeOf log_size = nullptr, cubin_size = nullptr, ptx_size = nullptr;
  Get log = nullptr, cubin = nullptr, ptx = nullptr;

  static std::string Text(Program program, SizeOf size_of, Get get) {
    size_t size = 0;
    if (size_of(program, &size) != 0) return "";
    std::string text(size, '\0');
    if (size > 0 && get(program, text.data()) != 0) return "";
    return text;
  }

 private:
  template <typename Function>
  void Find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr) Fail(std::string("NVRTC has no ") + name);
  }

  void* const library_;
};

void WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) Fail("cannot write " + path);
}

// The code for `architecture` ("sm_90", a cubin, or "compute_90", PTX).
std::string Compile(const Nvrtc& nvrtc, const std::string& root, const std::string& architecture) {
  const std::string source = "#include \"worker/trainer/cuda/kernels/kernels.cu\"\n";
  Nvrtc::Program program = nullptr;
  if (nvrtc.create(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr) != 0) {
    Fail("nvrtcCreateProgram");
  }
  const std::vector<std::string> options = {"--gpu-architecture=" + architecture,
                                            "--std=c++17",
                                            "-fmad=false",
                                            "-ftz=false",
                                            "-prec-div=true",
                                            "-prec-sqrt=true",
                                            "-I" + root};
  std::vector<const char*> words;
  for (const std::string& option : options) words.push_back(option.c_str());
  const int result = nvrtc.compile(program, static_cast<int>(words.size()), words.data());
  if (result != 0) {
    Fail(architecture + ":\n" + Nvrtc::Text(program, nvrtc.log_size, nvrtc.log));
  }
  const bool machine_code = architecture.starts_with("sm_");
  std::string code = machine_code ? Nvrtc::Text(program, nvrtc.cubin_size, nvrtc.cubin)
                                  : Nvrtc::Text(program, nvrtc.ptx_size, nvrtc.ptx);
  nvrtc.destroy(&program);
  if (code.empty()) Fail(architecture + ": no code");
  if (!machine_code && code.back() == '\0') code.pop_back();
  return code;
}

// A source that holds the cubins: the assembler reads the files, no compiler their bytes.
std::string TableOf(const std::string& folder) {
  std::ostringstream text;
  text << "#include \"worker/trainer/cuda/cubins.h\"\n\n";
  for (const int architecture : kArchitectures) {
    const std::string name = "noisefloor_sm_" + std::to_string(architecture);
    text << "asm(\".section .rodata,\\\"a\\\",@progbits\\n.balign 64\\n"
         << name << ":\\n.incbin \\\"" << folder << "/sm_" << architecture << ".cubin\\\"\\n"
         << name << "_end:\\n.byte 0\\n.previous\\n\");\n"
         << "extern \"C\" const unsigned char " << name << "[], " << name << "_end[];\n";
  }
  text << "\nnamespace noisefloor::cuda {\n\nstd::vector<Cubin> AllCubins() {\n  return {\n";
  for (const int architecture : kArchitectures) {
    const std::string name = "noisefloor_sm_" + std::to_string(architecture);
    text << "      {" << architecture << ", {" << name << ", " << name << "_end}},\n";
  }
  text << "  };\n}\n\n}  // namespace noisefloor::cuda\n";
  return text.str();
}

}  // namespace

int CompileAll(const char* library, const std::string& root, const std::string& out) {
  const Nvrtc nvrtc(library);
  int major = 0, minor = 0;
  nvrtc.version(&major, &minor);
  if (major != 12 || minor != 9) {
    Fail("NVRTC " + std::to_string(major) + "." + std::to_string(minor) + ", not 12.9");
  }
  for (const int architecture : kArchitectures) {
    const std::string number = std::to_string(architecture);
    WriteFile(out + "/sm_" + number + ".cubin", Compile(nvrtc, root, "sm_" + number));
    WriteFile(out + "/compute_" + number + ".ptx", Compile(nvrtc, root, "compute_" + number));
  }
  WriteFile(out + "/cubins.cc", TableOf(out));
  return 0;
}

}  // namespace noisefloor::cuda

int main(int count, char** words) {
  if (count != 4) {
    std::fprintf(stderr, "usage: noisefloor-compile-kernels LIBNVRTC ROOT OUT\n");
    return 2;
  }
  return noisefloor::cuda::CompileAll(words[1], words[2], words[3]);
}
