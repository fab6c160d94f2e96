# LibTorch from the wheels that deploy/setup unpacked: imported targets by hand, because
# find_package(Torch) asks for a CUDA toolkit that a machine without a GPU does not need.
#
# Only torch_cpu and c10 are linked; libtorch_cuda.so is opened at run time when there is a GPU.
# Each stack is for the trainer alone: the wheels' include folders hold protobuf 3.13 and fmt 12,
# which clash with the system's.

set(NOISEFLOOR_STACK "torch-2.11-cu130" CACHE STRING
    "The stack of the program noisefloor-trainer; those of others have their names behind it")
if(NOT NOISEFLOOR_CACHE)
  set(NOISEFLOOR_CACHE $ENV{HOME}/.cache/noisefloor)
endif()

# noisefloor_libtorch(STACK): the target noisefloor_torch-<STACK>.
function(noisefloor_libtorch stack)
  set(root ${NOISEFLOOR_CACHE}/stacks/${stack})
  foreach(part torch_cpu c10)
    add_library(noisefloor_${part}-${stack} SHARED IMPORTED GLOBAL)
    set_target_properties(noisefloor_${part}-${stack} PROPERTIES
      IMPORTED_LOCATION ${root}/torch/lib/lib${part}.so
      INTERFACE_INCLUDE_DIRECTORIES
        "${root}/torch/include;${root}/torch/include/torch/csrc/api/include"
      INTERFACE_COMPILE_DEFINITIONS "USE_DISTRIBUTED;USE_C10D_GLOO;USE_RPC")
  endforeach()
  add_library(noisefloor_torch-${stack} INTERFACE)
  target_link_libraries(noisefloor_torch-${stack} INTERFACE
    noisefloor_torch_cpu-${stack} noisefloor_c10-${stack})
  # Its assertions name their files: not where they lay when this was built.
  target_compile_options(noisefloor_torch-${stack} INTERFACE
    "-fmacro-prefix-map=${root}/torch/=")
  file(GLOB links LIST_DIRECTORIES true ${root}/nvidia/*/lib)
  list(TRANSFORM links PREPEND "-Wl,-rpath-link,")
  target_link_options(noisefloor_torch-${stack} INTERFACE ${links} "-Wl,--allow-shlib-undefined")
endfunction()

# The stacks that the trainer is built with: those of deploy/stacks whose LibTorch is there.
set(NOISEFLOOR_STACKS "")
file(GLOB locks CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/deploy/stacks/*/lock.txt)
foreach(lock ${locks})
  get_filename_component(folder ${lock} DIRECTORY)
  get_filename_component(stack ${folder} NAME)
  if(EXISTS ${NOISEFLOOR_CACHE}/stacks/${stack}/torch/lib/libtorch_cpu.so)
    noisefloor_libtorch(${stack})
    list(APPEND NOISEFLOOR_STACKS ${stack})
  endif()
endforeach()
if(NOT NOISEFLOOR_STACK IN_LIST NOISEFLOOR_STACKS)
  message(FATAL_ERROR "No LibTorch in ${NOISEFLOOR_CACHE}/stacks/${NOISEFLOOR_STACK}. Run "
                      "deploy/setup, or configure with -DNOISEFLOOR_TRAINER=OFF to build "
                      "everything else.")
endif()
