# LibTorch from the wheel that deploy/setup unpacked: imported targets by hand, because
# find_package(Torch) asks for a CUDA toolkit that a machine without a GPU does not need.
#
# Only torch_cpu and c10 are linked; libtorch_cuda.so is opened at run time when there is a GPU.
# noisefloor::torch is for the trainer alone: the wheel's include folders hold protobuf 3.13 and
# fmt 12, which clash with the system's.

set(NOISEFLOOR_STACK "torch-2.11-cu130" CACHE STRING "The stack this trainer is built with")
if(NOT NOISEFLOOR_CACHE)
  set(NOISEFLOOR_CACHE $ENV{HOME}/.cache/noisefloor)
endif()
set(torch_root ${NOISEFLOOR_CACHE}/stacks/${NOISEFLOOR_STACK}/torch)
if(NOT EXISTS ${torch_root}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "No LibTorch in ${torch_root}. Run deploy/setup, or configure with "
                      "-DNOISEFLOOR_TRAINER=OFF to build everything else.")
endif()

foreach(part torch_cpu c10)
  add_library(noisefloor_${part} SHARED IMPORTED)
  set_target_properties(noisefloor_${part} PROPERTIES
    IMPORTED_LOCATION ${torch_root}/lib/lib${part}.so
    INTERFACE_INCLUDE_DIRECTORIES
      "${torch_root}/include;${torch_root}/include/torch/csrc/api/include"
    INTERFACE_COMPILE_DEFINITIONS "USE_DISTRIBUTED;USE_C10D_GLOO;USE_RPC")
endforeach()
add_library(noisefloor_torch INTERFACE)
target_link_libraries(noisefloor_torch INTERFACE noisefloor_torch_cpu noisefloor_c10)
# Its assertions name their files: not where they lay when this was built.
target_compile_options(noisefloor_torch INTERFACE "-fmacro-prefix-map=${torch_root}/=")
target_link_options(noisefloor_torch INTERFACE
  "-Wl,-rpath-link,${NOISEFLOOR_CACHE}/stacks/${NOISEFLOOR_STACK}/nvidia/cu13/lib"
  "-Wl,--allow-shlib-undefined")
add_library(noisefloor::torch ALIAS noisefloor_torch)
