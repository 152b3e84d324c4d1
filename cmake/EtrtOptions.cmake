# Compile options of everything built here.
add_library(etrt_options INTERFACE)
target_compile_features(etrt_options INTERFACE cxx_std_20)
target_compile_options(etrt_options INTERFACE
  -Wall -Wextra -Werror -Wshadow $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> -Wno-missing-field-initializers
  $<$<COMPILE_LANGUAGE:CXX>:-Wno-psabi>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # GCC 12 warns of any std::string assigned a literal (its bug 105651)
  -ffp-contract=off  # the same answers whichever instructions the compiler has
  -fvisibility=hidden $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(ETRT_SANITIZE)
  target_compile_options(etrt_options INTERFACE -fsanitize=${ETRT_SANITIZE} -fno-omit-frame-pointer -g1)
  target_link_options(etrt_options INTERFACE -fsanitize=${ETRT_SANITIZE})
  if(ETRT_SANITIZE MATCHES "undefined")
    target_compile_options(etrt_options INTERFACE -fno-sanitize-recover=all)
  endif()
endif()
find_program(ETRT_CCACHE ccache)
if(ETRT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ETRT_CCACHE})
endif()
