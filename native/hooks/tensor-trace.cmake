# Included by ggml/CMakeLists.txt of a hooked source tree. The tracer's sources are in the folder of this file.
option(GGML_TENSOR_TRACE "ggml: record every op and where its bytes come from" OFF)

if (GGML_TENSOR_TRACE)
    set(TENSOR_TRACE_SOURCE ${CMAKE_CURRENT_LIST_DIR})
    target_sources(ggml-base PRIVATE
        ${TENSOR_TRACE_SOURCE}/clock.c
        ${TENSOR_TRACE_SOURCE}/window.c
        ${TENSOR_TRACE_SOURCE}/cost.c
        ${TENSOR_TRACE_SOURCE}/crc32.c
        ${TENSOR_TRACE_SOURCE}/facts.c
        ${TENSOR_TRACE_SOURCE}/faults.c
        ${TENSOR_TRACE_SOURCE}/footprint.c
        ${TENSOR_TRACE_SOURCE}/graphs.c
        ${TENSOR_TRACE_SOURCE}/map.c
        ${TENSOR_TRACE_SOURCE}/mapped.c
        ${TENSOR_TRACE_SOURCE}/memory.c
        ${TENSOR_TRACE_SOURCE}/pages.c
        ${TENSOR_TRACE_SOURCE}/record.c
        ${TENSOR_TRACE_SOURCE}/residency.c
        ${TENSOR_TRACE_SOURCE}/ring.c
        ${TENSOR_TRACE_SOURCE}/schedule.c
        ${TENSOR_TRACE_SOURCE}/segment.c
        ${TENSOR_TRACE_SOURCE}/state.c
        ${TENSOR_TRACE_SOURCE}/storage.c
        ${TENSOR_TRACE_SOURCE}/thread_time.c
        ${TENSOR_TRACE_SOURCE}/trace.c
        ${TENSOR_TRACE_SOURCE}/wake.c
        ${TENSOR_TRACE_SOURCE}/writer.c
        ${TENSOR_TRACE_SOURCE}/ggml_graphs.c
        ${TENSOR_TRACE_SOURCE}/ggml_memory.c
        ${TENSOR_TRACE_SOURCE}/ggml_passes.c
        ${TENSOR_TRACE_SOURCE}/ggml_process.c
        ${TENSOR_TRACE_SOURCE}/ggml_splits.c
        ${TENSOR_TRACE_SOURCE}/ggml_chosen.c
        ${TENSOR_TRACE_SOURCE}/ggml_reads.c
        ${TENSOR_TRACE_SOURCE}/ggml_saved.c
        ${TENSOR_TRACE_SOURCE}/ggml_waits.c)
    target_include_directories(ggml-base PRIVATE ${TENSOR_TRACE_SOURCE})
    target_compile_definitions(ggml-base PRIVATE GGML_TENSOR_TRACE _GNU_SOURCE) # gettid, getrandom, MAP_POPULATE
    # which hooks, and which llama.cpp: from HOOKED, which `tracegen llama-cpp hook` wrote into this folder
    file(STRINGS ${TENSOR_TRACE_SOURCE}/HOOKED TENSOR_TRACE_HOOKED REGEX "^(hooks|commit|changed|without) = ")
    string(REPLACE ";" ", " TENSOR_TRACE_HOOKED "${TENSOR_TRACE_HOOKED}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${TENSOR_TRACE_SOURCE}/HOOKED)
    set_source_files_properties(${TENSOR_TRACE_SOURCE}/facts.c TARGET_DIRECTORY ggml-base PROPERTIES COMPILE_DEFINITIONS
        "TENSOR_TRACE_BUILD=\"${CMAKE_BUILD_TYPE} ${CMAKE_C_COMPILER_ID} native=${GGML_NATIVE} openmp=${GGML_OPENMP} shared=${BUILD_SHARED_LIBS}\";TENSOR_TRACE_HOOKED=\"${TENSOR_TRACE_HOOKED}\"")
    if (TARGET ggml-cpu)
        target_compile_definitions(ggml-cpu PRIVATE GGML_TENSOR_TRACE)
    endif()
endif()
