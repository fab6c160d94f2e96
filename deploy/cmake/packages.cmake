# Every library we build on, found once, here. deploy/setup installs them.
find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(GTest REQUIRED)
find_package(yaml-cpp 0.7 REQUIRED)
find_package(SQLiteCpp REQUIRED)
find_package(CURL REQUIRED)
find_package(LibArchive REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(Boost REQUIRED)              # Boost.Math, headers only.
find_package(Eigen3 REQUIRED)             # Headers only.
if(NOISEFLOOR_GRPC)
  find_package(Protobuf REQUIRED)         # Before gRPC and LibTorch: both take what they find.
  find_package(gRPC CONFIG REQUIRED)
endif()
if(NOISEFLOOR_TRAINER)
  include(libtorch)
endif()

# Our libraries name no third-party library that two programs link in different ways; each program
# chooses: `runtime` is the system's shared objects, `runtime_static` the archives, for the trainer,
# which travels to other machines with nothing but LibTorch beside it.
add_library(noisefloor_runtime INTERFACE)
target_link_libraries(noisefloor_runtime INTERFACE
  absl::status absl::statusor absl::time OpenSSL::Crypto ZLIB::ZLIB fmt::fmt)
file(GLOB absl_archives /usr/lib/*/libabsl_*.a)
find_library(NOISEFLOOR_CRYPTO_ARCHIVE libcrypto.a REQUIRED)
find_library(NOISEFLOOR_ZLIB_ARCHIVE libz.a REQUIRED)
# Debian has no archive of fmt; compiling it into every file instead doubles a file's time.
add_library(noisefloor_fmt_archive STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt_archive.cc)
set_target_properties(noisefloor_fmt_archive PROPERTIES CXX_CLANG_TIDY "")
# What decodes pictures: archives in every program, as their versions decide pixels.
find_package(JPEG REQUIRED)               # libjpeg-turbo's.
find_package(PNG REQUIRED)
find_library(NOISEFLOOR_JPEG_ARCHIVE libjpeg.a REQUIRED)
find_library(NOISEFLOOR_PNG_ARCHIVE libpng16.a REQUIRED)
find_library(NOISEFLOOR_TAR_ARCHIVE libarchive.a REQUIRED)
add_library(noisefloor_pictures INTERFACE)
target_include_directories(noisefloor_pictures SYSTEM INTERFACE
  ${JPEG_INCLUDE_DIRS} ${PNG_INCLUDE_DIRS} ${LibArchive_INCLUDE_DIRS})
target_link_libraries(noisefloor_pictures INTERFACE
  ${NOISEFLOOR_TAR_ARCHIVE} ${NOISEFLOOR_JPEG_ARCHIVE} ${NOISEFLOOR_PNG_ARCHIVE}
  ${NOISEFLOOR_ZLIB_ARCHIVE} m)
add_library(noisefloor_runtime_static INTERFACE)
target_link_libraries(noisefloor_runtime_static INTERFACE
  -Wl,--start-group ${absl_archives} -Wl,--end-group
  ${NOISEFLOOR_CRYPTO_ARCHIVE} ${NOISEFLOOR_ZLIB_ARCHIVE} noisefloor_fmt_archive
  Threads::Threads ${CMAKE_DL_LIBS})
