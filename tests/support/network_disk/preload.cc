// LD_PRELOAD: below $NETWORK_DISK statfs says the number $NETWORK_DISK_TYPE (hexadecimal).
#include <dlfcn.h>
#include <sys/vfs.h>

#include <cstdlib>
#include <cstring>

extern "C" int statfs(const char* path, struct statfs* about) noexcept {
  using Real = int (*)(const char*, struct statfs*);
  const auto real = reinterpret_cast<Real>(dlsym(RTLD_NEXT, "statfs"));
  const int failed = real(path, about);
  const char* folder = std::getenv("NETWORK_DISK");
  const char* type = std::getenv("NETWORK_DISK_TYPE");
  if (failed == 0 && folder != nullptr && type != nullptr &&
      std::strncmp(path, folder, std::strlen(folder)) == 0) {
    about->f_type = static_cast<decltype(about->f_type)>(std::strtoul(type, nullptr, 16));
  }
  return failed;
}
