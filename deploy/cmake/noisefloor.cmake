# What every folder uses: one library, one program or one test per call, with our warnings and
# sanitizers, headers found from the root and compiled alone by `all_verify_interface_header_sets`.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_FLAGS_RELEASE "-O2")        # Assertions stay on; see common/base/check.h.
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(NOISEFLOOR_CCACHE ccache)
if(NOISEFLOOR_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} ${NOISEFLOOR_CCACHE})
endif()
find_program(NOISEFLOOR_MOLD mold)
if(NOISEFLOOR_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_library(noisefloor_flags INTERFACE)
target_compile_options(noisefloor_flags INTERFACE
  -Wall -Wextra -Wswitch -Wno-unused-parameter -Werror=switch -Werror=return-type
  -Wno-missing-field-initializers         # A designated initializer leaves the rest at its default.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> # GCC 12 sees overlap in "text" + std::string.
  -ffp-contract=off)                      # Bits must not depend on who compiled them.
if(NOISEFLOOR_SANITIZER STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=address,undefined)
elseif(NOISEFLOOR_SANITIZER STREQUAL "thread")
  add_compile_options(-fsanitize=thread -g1)
  add_link_options(-fsanitize=thread)
endif()

# noisefloor_parse(name [FOR_TESTS] HEADERS <a> <b> DEPS x): headers that many targets include, parsed
# once, for PARSED below; FOR_TESTS: with the flags of tests. None of our own but the generated protocol. The presets asan-grpc and tidy build
# without them: there a missing include shows.
function(noisefloor_parse name)
  cmake_parse_arguments(ARG "FOR_TESTS" "" "HEADERS;DEPS" ${ARGN})
  set(target noisefloor_parsed_${name})
  set(source ${PROJECT_BINARY_DIR}/parsed_${name}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "")
  add_library(${target} STATIC ${source})
  target_link_libraries(${target} PRIVATE ${ARG_DEPS} noisefloor_flags)
  target_precompile_headers(${target} PRIVATE ${ARG_HEADERS})
  if(ARG_FOR_TESTS)
    target_compile_options(${target} PRIVATE -O0)
  endif()
  # ccache takes the parsed headers that lie there from before for what they are made of, and gives
  # them back unchanged though a header (of the protocol, say) has changed.
  set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "")
endfunction()

function(noisefloor_take_parsed target parsed)
  if(parsed)
    target_precompile_headers(${target} REUSE_FROM noisefloor_parsed_${parsed})
  endif()
endfunction()

# noisefloor_together(target): its sources compiled eight at a time. For those whose headers (gRPC's,
# LibTorch's, GoogleTest's) cost more than themselves, even parsed before. Their names without linkage
# differ.
option(NOISEFLOOR_TOGETHER "Compile the sources of some libraries eight at a time" OFF)
function(noisefloor_together target)
  if(NOISEFLOOR_TOGETHER)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    # CMake names them by their whole paths, which programs must not know.
    target_compile_options(${target} PRIVATE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
  endif()
endfunction()

# noisefloor_library(name SOURCES a.cc HEADERS a.h DEPS x [PRIVATE_DEPS y] [PARSED z])
# A static library noisefloor_<name>, alias noisefloor::<name>.
function(noisefloor_library name)
  cmake_parse_arguments(ARG "" "PARSED" "SOURCES;HEADERS;DEPS;PRIVATE_DEPS" ${ARGN})
  set(target noisefloor_${name})
  if(ARG_SOURCES)
    add_library(${target} STATIC ${ARG_SOURCES})
    target_link_libraries(${target} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS} noisefloor_flags)
    noisefloor_take_parsed(${target} "${ARG_PARSED}")
    if(ARG_PARSED)
      noisefloor_together(${target})
    endif()
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${ARG_DEPS})
    set(scope INTERFACE)
  endif()
  target_include_directories(${target} ${scope} ${PROJECT_SOURCE_DIR})
  if(ARG_HEADERS)
    target_sources(${target} ${scope}
      FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${ARG_HEADERS})
    set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  endif()
  add_library(noisefloor::${name} ALIAS ${target})
endfunction()

function(noisefloor_runtime_of out static)
  if(static)
    set(${out} noisefloor_runtime_static PARENT_SCOPE)
  else()
    set(${out} noisefloor_runtime PARENT_SCOPE)
  endif()
endfunction()

# noisefloor_program(name [STATIC] SOURCES main.cc DEPS x): an executable <name> in the build's
# bin/. STATIC: see runtime_static in packages.cmake; whatever links LibTorch needs it.
function(noisefloor_program name)
  cmake_parse_arguments(ARG "STATIC" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  noisefloor_runtime_of(runtime ${ARG_STATIC})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} ${runtime} noisefloor_flags)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endfunction()

# noisefloor_test(name [STATIC] [SERIAL] [OPTIMISED] SOURCES a_test.cc DEPS x [LABELS slow] [ENV A=b]
# [TIMEOUT s] [PARSED z]): one executable, one ctest test. SERIAL: alone on the machine. A test's own
# sources are compiled without optimisation, in half the time; OPTIMISED: it computes much itself.
function(noisefloor_test name)
  cmake_parse_arguments(ARG "SERIAL;STATIC;OPTIMISED" "TIMEOUT;PARSED" "SOURCES;DEPS;LABELS;ENV"
                        ${ARGN})
  if(NOT ARG_PARSED AND NOT ARG_STATIC AND NOT ARG_OPTIMISED)
    set(ARG_PARSED tests)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  noisefloor_runtime_of(runtime ${ARG_STATIC})
  target_link_libraries(${name} PRIVATE
    ${ARG_DEPS} ${runtime} GTest::gmock GTest::gtest_main noisefloor_flags)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  noisefloor_take_parsed(${name} "${ARG_PARSED}")
  noisefloor_together(${name})
  if(NOT ARG_OPTIMISED)
    target_compile_options(${name} PRIVATE -O0)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set(leaks "")
  if(NOISEFLOOR_SANITIZER)
    set(leaks "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/leaks_of_others.txt")
  endif()
  if(NOISEFLOOR_TEST_FOLDER)
    list(APPEND ARG_ENV "TEST_TMPDIR=${NOISEFLOOR_TEST_FOLDER}")
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 900)                  # Against hanging, never to prove speed.
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT}
    RUN_SERIAL "${ARG_SERIAL}" ENVIRONMENT
    "NOISEFLOOR_SOURCE=${PROJECT_SOURCE_DIR};NOISEFLOOR_DATA=${NOISEFLOOR_TEST_DATA};${leaks};${ARG_ENV}")
endfunction()

# noisefloor_python_test(name label a_test b_test [WITH client]): modules of unittest in this folder, run by
# python3, or by the Python with what is named.
function(noisefloor_python_test name label)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "WITH" "")
  set(python python3)
  if(arg_WITH)
    set(python ${PROJECT_SOURCE_DIR}/tests/support/python_with ${arg_WITH})
  endif()
  add_test(NAME ${name} COMMAND ${python} -m unittest ${arg_UNPARSED_ARGUMENTS}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set(path ${PROJECT_SOURCE_DIR}/worker/python:${PROJECT_SOURCE_DIR}/coordinator/python)
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 900 SKIP_RETURN_CODE 77
    ENVIRONMENT "PYTHONPATH=${path}:${PROJECT_BINARY_DIR}/python;PYTHONDONTWRITEBYTECODE=1;NOISEFLOOR_SOURCE=${PROJECT_SOURCE_DIR};NOISEFLOOR_BIN=${PROJECT_BINARY_DIR}/bin")
endfunction()
