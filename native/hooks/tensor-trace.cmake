# Included by ggml/CMakeLists.txt of a hooked source tree. The tracer's sources are in the folder of this file.
option(GGML_TENSOR_TRACE "ggml: record every op and where its bytes come from" OFF)

if (GGML_TENSOR_TRACE)
    set(TENSOR_TRACE_SOURCE ${CMAKE_CURRENT_LIST_DIR})
    set(TENSOR_TRACE_FILES
        clock cost crc32 facts faults graphs map mapped memory pages record residency schedule segment state thread_time
        trace window writer
        ggml_chosen ggml_graphs ggml_memory ggml_passes ggml_process ggml_reads ggml_saved ggml_splits ggml_waits)
    if (APPLE)
        list(APPEND TENSOR_TRACE_FILES darwin)
    else()
        list(APPEND TENSOR_TRACE_FILES linux allocated footprint nodes ring storage wake)
    endif()
    list(TRANSFORM TENSOR_TRACE_FILES REPLACE "(.+)" "${TENSOR_TRACE_SOURCE}/\\1.c")
    target_sources(ggml-base PRIVATE ${TENSOR_TRACE_FILES})
    target_include_directories(ggml-base PRIVATE ${TENSOR_TRACE_SOURCE})
    target_link_libraries(ggml-base PRIVATE ${CMAKE_DL_LIBS}) # dlsym
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
