# C++ accessors of the file formats, generated from schema/*.fbs at build time.
set(ETRT_SCHEMA_DIR ${PROJECT_BINARY_DIR}/schema)
file(GLOB schemas CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/schema/*.fbs)
set(headers)
foreach(schema ${schemas})
  get_filename_component(name ${schema} NAME_WE)
  set(header ${ETRT_SCHEMA_DIR}/schema/${name}_generated.h)
  add_custom_command(OUTPUT ${header}
    COMMAND ${ETRT_FLATC} --cpp --cpp-std c++17 --scoped-enums -o ${ETRT_SCHEMA_DIR}/schema ${schema}
    DEPENDS ${schema} VERBATIM)
  list(APPEND headers ${header})
endforeach()
add_custom_target(etrt_schemas DEPENDS ${headers})
