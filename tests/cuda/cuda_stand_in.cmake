# The stand-in for CUDA; the rehearsal's plugin (cmake/rehearsal.cmake) is made of it too.
set(cuda_stand_in_sources
  ${PROJECT_SOURCE_DIR}/tests/cuda/cuda_stand_in.cc
  ${PROJECT_SOURCE_DIR}/tests/cuda/cuda_stand_in_contents.cc
  ${PROJECT_SOURCE_DIR}/tests/cuda/cuda_stand_in_engine.cc
  ${PROJECT_SOURCE_DIR}/tests/cuda/cuda_stand_in_memory.cc
  ${PROJECT_SOURCE_DIR}/tests/cuda/cuda_stand_in_time.cc
  ${PROJECT_SOURCE_DIR}/tests/cuda/cuda_stand_in_work.cc
  ${PROJECT_SOURCE_DIR}/tests/cuda/sparse_memory.cc)
