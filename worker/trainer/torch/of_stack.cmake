# noisefloor_trainer_of(STACK SUFFIX): the library trainer_torch<SUFFIX> and the program
# noisefloor-trainer<SUFFIX>.
function(noisefloor_trainer_of stack suffix)
  string(REGEX MATCH "[0-9]+\\.[0-9]+" version ${stack})
  string(REPLACE "." "_" version ${version})
  noisefloor_library(trainer_torch${suffix}
    SOURCES
      failure.cc measure_member.cc member.cc try_device.cc
      facts/adapter_${version}.cc facts/device.cc facts/environment.cc facts/kineto.cc
      facts/probe_run.cc facts/switches.cc
      model/densenet.cc model/efficientnet.cc model/host_tensors.cc model/inception_v3.cc
      model/init.cc model/layers.cc model/lenet.cc model/load_weights.cc model/medium_cnn.cc
      model/mlp.cc model/mobilenet.cc model/model.cc model/noisy_bias.cc model/pool_relu.cc model/precision.cc
      model/resnet.cc model/sequence.cc model/small_cnn.cc model/vgg.cc model/vit.cc
      model/weights.cc model/xception.cc
      optim/dial.cc optim/optimizer.cc optim/poke.cc optim/state.cc optim/update.cc
      step/arm.cc step/batches.cc step/checkpointer.cc step/device_images.cc step/evaluate.cc
      step/infer.cc step/journal.cc step/measure.cc step/memory.cc step/moving.cc step/results.cc
      step/replicas.cc step/shards.cc step/stopwatch.cc step/train.cc
    HEADERS
      failure.h measure_member.h member.h pch.h try_device.h
      facts/adapter.h facts/device.h facts/environment.h facts/kernels.h facts/switches.h
      model/host_tensors.h model/init.h model/launch.h model/layers.h model/load_weights.h model/model.h
      model/networks.h model/noisy_bias.h model/pool_relu.h model/precision.h model/sequence.h model/weights.h
      optim/dial.h optim/optimizer.h optim/poke.h optim/state.h optim/update.h
      step/arm.h step/batches.h step/checkpointer.h step/device_images.h step/evaluate.h
      step/infer.h step/journal.h step/measure.h step/memory.h step/moving.h step/results.h
      step/replicas.h step/shards.h step/stopwatch.h step/train.h step/train_report.h
    DEPS
      noisefloor_torch-${stack} noisefloor::base noisefloor::files noisefloor::trainer_checkpoint
      noisefloor::trainer_cubins noisefloor::trainer_cuda noisefloor::trainer_data noisefloor::trainer_fused
      noisefloor::trainer_images noisefloor::trainer_noise noisefloor::trainer_plain
      noisefloor::trainer_protocol)
  target_precompile_headers(noisefloor_trainer_torch${suffix} PRIVATE pch.h)
  noisefloor_together(noisefloor_trainer_torch${suffix})
  # Names of their own that LibTorch has, too.
  set_source_files_properties(facts/kineto.cc facts/probe_run.cc
    PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_compile_definitions(noisefloor_trainer_torch${suffix} PRIVATE
    NOISEFLOOR_STACK="${stack}" NOISEFLOOR_VERSION="${PROJECT_VERSION}")

  # LibTorch is found where setup put it (run path), or where LD_LIBRARY_PATH says on a machine that
  # the program was carried to.
  noisefloor_program(noisefloor-trainer${suffix} STATIC
    SOURCES main.cc
    DEPS noisefloor::trainer_torch${suffix} noisefloor::options)
  target_link_options(noisefloor-trainer${suffix} PRIVATE -Wl,--enable-new-dtags)
  if(CMAKE_CXX_FLAGS MATCHES "--coverage")
    target_compile_definitions(noisefloor-trainer${suffix} PRIVATE NOISEFLOOR_COVERAGE)
  endif()
endfunction()
