# Every other stack: the same against Python's reference, the same known answers.
set(others ${NOISEFLOOR_STACKS})
list(REMOVE_ITEM others ${NOISEFLOOR_STACK})
foreach(stack ${others})
  noisefloor_test(trainer_torch_test-${stack} STATIC
    SOURCES ${torch_tests}
    DEPS noisefloor::cuda_rehearsal noisefloor::trainer_torch-${stack}
    LABELS  fast)
  target_precompile_headers(trainer_torch_test-${stack} PRIVATE
    ${PROJECT_SOURCE_DIR}/worker/trainer/torch/pch.h)
endforeach()

# known_answers has every network on every instruction set; the others only in deploy/check --all.
set(when_asked [=[
  if [ "$NOISEFLOOR_STACKS_ALL" ]; then exec "$@"; fi
  echo "SKIPPED: a minute of another stack: NOISEFLOOR_STACKS_ALL=1"; exit 77]=])
foreach(stack ${others})
  add_test(NAME trainer_classes_test-${stack}
    COMMAND sh -c "${when_asked}" sh $<TARGET_FILE:trainer_classes_test>)
  add_test(NAME trainer_program_test-${stack}
    COMMAND sh -c "${when_asked}" sh $<TARGET_FILE:trainer_program_test> --gtest_filter=*HashTableTest*:NoiseTest*)
  set_tests_properties(trainer_classes_test-${stack} trainer_program_test-${stack}
    PROPERTIES SKIP_RETURN_CODE 77)
  add_test(NAME trainer_known_answers_test-${stack} COMMAND trainer_known_answers_test)
  foreach(test trainer_classes_test trainer_program_test trainer_known_answers_test)
    add_dependencies(${test} noisefloor-trainer-${stack})
    set_tests_properties(${test}-${stack} PROPERTIES TIMEOUT 900 ENVIRONMENT
      "NOISEFLOOR_SOURCE=${PROJECT_SOURCE_DIR};NOISEFLOOR_DATA=${NOISEFLOOR_TEST_DATA};NOISEFLOOR_OTHER_TRAINER=$<TARGET_FILE:noisefloor-trainer-${stack}>")
  endforeach()
endforeach()
