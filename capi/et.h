/* et.h - the C ABI of etrt: load ExecuTorch programs (.pte) and run their methods.
 *
 * The road:
 *
 *   et_program* program; et_method* method; et_value in, out;
 *   et_program_load_file("model.pte", NULL, &program);         file -> verified program
 *   et_method_load(program, "forward", NULL, &method);         program -> something that runs
 *   et_method_set_input(method, 0, &in);                       read at each run, from your memory
 *   et_method_execute(method);
 *   et_method_get_output(method, 0, &out);                     a view of the result
 *   et_method_free(method); et_program_free(program);
 *
 * Conventions
 *   Outcome     Every call that can fail returns an et_status; out parameters are written only on ET_OK.
 *               The reason is et_last_error_text(), or et_last_error_take() as an object.
 *   Ownership   One of three sentences: "The caller owns it and frees it with X.", "It belongs to Y; don't
 *               free it.", "Y keeps using it until Z.". Every handle has one _free; NULL is fine there.
 *               Children keep their parents alive: handles may be freed in any order.
 *   Threads     A program, and everything that is a plain function, may be used by any number of threads.
 *               A method or a state is used by one thread at a time; a second one gets ET_INVALID_STATE.
 *   Growth      Option structs start with struct_size: set it to sizeof, zero the rest (ET_INIT does).
 *               et_value and et_tensor_info have a fixed size with reserved room.
 *   Strings     UTF-8, NUL-terminated unless a size is given.
 */
#ifndef ET_H_
#define ET_H_

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#if defined(ETRT_BUILDING)
#define ET_API __declspec(dllexport)
#else
#define ET_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define ET_API __attribute__((visibility("default")))
#else
#define ET_API
#endif

/* et_method_options options = ET_INIT(et_method_options); */
#ifdef __cplusplus
#define ET_INIT(type) \
  { sizeof(type) }
#else
#define ET_INIT(type) \
  { .struct_size = sizeof(type) }
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Versions ---------------------------------------------------------------------------------------- */

/* "0.1.0". Static storage. */
ET_API const char* et_version(void);
/* Grows by one when functions are added; a binding made for a smaller number keeps working. */
ET_API uint32_t et_abi_version(void);

/* ---- Status and errors ------------------------------------------------------------------------------- */

/* Codes and names of ExecuTorch's Error. */
typedef int32_t et_status;
enum {
  ET_OK = 0x00,
  ET_INTERNAL = 0x01,
  ET_INVALID_STATE = 0x02, /* the object is busy, or not ready for this call */
  ET_END_OF_METHOD = 0x03,
  ET_ALREADY_LOADED = 0x04,
  ET_NOT_SUPPORTED = 0x10,
  ET_NOT_IMPLEMENTED = 0x11,
  ET_INVALID_ARGUMENT = 0x12,
  ET_INVALID_TYPE = 0x13,
  ET_OPERATOR_MISSING = 0x14,
  ET_REGISTRATION_EXCEEDING_MAX_KERNELS = 0x15,
  ET_REGISTRATION_ALREADY_REGISTERED = 0x16,
  ET_NOT_FOUND = 0x20,
  ET_MEMORY_ALLOCATION_FAILED = 0x21,
  ET_ACCESS_FAILED = 0x22,   /* a file could not be read */
  ET_INVALID_PROGRAM = 0x23, /* the file is not a sound program */
  ET_INVALID_EXTERNAL_DATA = 0x24,
  ET_OUT_OF_RESOURCES = 0x25,
  ET_DELEGATE_INVALID_COMPATIBILITY = 0x30,
  ET_DELEGATE_MEMORY_ALLOCATION_FAILED = 0x31,
  ET_DELEGATE_INVALID_HANDLE = 0x32
};

/* "InvalidArgument"; "Unknown" for a number that is no code. Static storage. */
ET_API const char* et_status_name(et_status status);

/* This thread's last failure. Only a failing call changes it: no success, no getter and no _free does.
 * The text is "<what failed>, error: 0x<code>: <why, a line each>"; "" before any failure, never NULL.
 * It belongs to the thread and lives until the next failing call on it; don't free it. */
ET_API et_status et_last_error_status(void);
ET_API const char* et_last_error_text(void);

/* The last failure as an object that may go to another thread. */
typedef struct et_error et_error;
/* Moves it out and leaves none behind; NULL when there is none. The caller owns it and frees it with
 * et_error_free. */
ET_API et_error* et_last_error_take(void);
ET_API void et_error_free(et_error* error);
/* Parts of an error. Strings belong to the error; "" where a part does not apply. */
ET_API et_status et_error_status(const et_error* error);
ET_API const char* et_error_text(const et_error* error);
ET_API const char* et_error_method(const et_error* error);
ET_API const char* et_error_operator(const et_error* error);
/* Index of the argument, input or output at fault; -1 when none is. */
ET_API int64_t et_error_argument(const et_error* error);
ET_API const char* et_error_expected(const et_error* error);
ET_API const char* et_error_found(const et_error* error);

/* ---- The log ----------------------------------------------------------------------------------------- */

enum { ET_LOG_DEBUG = 0, ET_LOG_INFO = 1, ET_LOG_ERROR = 2, ET_LOG_FATAL = 3, ET_LOG_OFF = 4 };

/* Nothing is logged until a level is set here or by ETRT_LOG_LEVEL (debug, info, error, fatal, off).
 * Error texts are the same whatever the level. */
ET_API void et_set_log_level(int32_t level);
/* `message` has `size` bytes, is not NUL-terminated, and is valid during the call. Called on any thread. */
typedef void (*et_log_callback)(int32_t level, const char* message, size_t size, void* user_data);
/* Sends log lines to `callback` instead of stderr; NULL brings stderr back. The library keeps using
 * `user_data` until the next call of this function. */
ET_API void et_set_log_callback(et_log_callback callback, void* user_data);

/* ---- Dtypes ------------------------------------------------------------------------------------------ */

/* The numbers a program uses. Not named here: 8 complex32, 12 qint8, 13 quint8, 14 qint32, 16 quint4x2,
 * 17 quint2x4, 18 bits1x8, 19 bits2x4, 20 bits4x2, 21 bits8, 22 bits16, 23 float8_e5m2,
 * 24 float8_e4m3fn, 25 float8_e5m2fnuz, 26 float8_e4m3fnuz. */
enum {
  ET_DTYPE_UINT8 = 0,
  ET_DTYPE_INT8 = 1,
  ET_DTYPE_INT16 = 2,
  ET_DTYPE_INT32 = 3,
  ET_DTYPE_INT64 = 4,
  ET_DTYPE_FLOAT16 = 5,
  ET_DTYPE_FLOAT32 = 6,
  ET_DTYPE_FLOAT64 = 7,
  ET_DTYPE_COMPLEX64 = 9,
  ET_DTYPE_COMPLEX128 = 10,
  ET_DTYPE_BOOL = 11,
  ET_DTYPE_BFLOAT16 = 15,
  ET_DTYPE_UINT16 = 27,
  ET_DTYPE_UINT32 = 28,
  ET_DTYPE_UINT64 = 29
};
/* PyTorch's name; NULL for a number that is no dtype. Static storage. */
ET_API const char* et_dtype_name(int32_t dtype);
/* -1 for a name that is no dtype. */
ET_API int32_t et_dtype_from_name(const char* name);
/* Bytes of an element; 0 for a number that is no dtype. */
ET_API size_t et_dtype_size(int32_t dtype);

/* ---- Values ------------------------------------------------------------------------------------------ */

enum {
  ET_KIND_NONE = 0,
  ET_KIND_INT = 1,
  ET_KIND_DOUBLE = 2,
  ET_KIND_BOOL = 3,
  ET_KIND_STRING = 4,
  ET_KIND_TENSOR = 5,
  ET_KIND_LIST = 6 /* of any values; an absent tensor is ET_KIND_NONE */
};

enum { ET_DEVICE_CPU = 0, ET_DEVICE_CUDA = 1 };

/* Memory seen as a tensor. Strides are in elements and may be anything a NumPy array has, negative ones
 * too; NULL means row-major. `data` may be NULL when the tensor has no elements. */
typedef struct et_tensor_view {
  void* data;
  const int64_t* sizes;
  const int64_t* strides;
  int32_t dtype;
  int32_t rank;
  int32_t device_type;
  int32_t device_index;
} et_tensor_view;

typedef struct et_string_view {
  const char* data;
  size_t size;
} et_string_view;

struct et_value;
typedef struct et_list_view {
  const struct et_value* items;
  size_t count;
} et_list_view;

/* Flags of a value: nothing may be written through it. */
enum { ET_VALUE_READ_ONLY = 1 };

/* 64 bytes. A value owns nothing unless `hold` is set (see et_value_hold). */
typedef struct et_value {
  int32_t kind;
  int32_t flags;
  union {
    int64_t as_int;
    double as_double;
    int32_t as_bool;
    et_string_view as_string;
    et_tensor_view as_tensor;
    et_list_view as_list;
  } u;
  void* hold;
  void* reserved1;
} et_value;

ET_API size_t et_sizeof_value(void);
ET_API size_t et_sizeof_tensor_info(void);

/* Frees what a value with a `hold` keeps alive and sets the hold to NULL; does nothing without one. */
ET_API void et_value_release(et_value* value);
/* A copy with its own memory, row-major. The caller owns it and frees it with et_value_release. */
ET_API et_status et_value_clone(const et_value* value, et_value* copy);
/* A copy of a tensor with its own memory, row-major, its elements converted to `dtype` as operators convert
 * them. The caller owns it and frees it with et_value_release. ET_NOT_SUPPORTED for dtypes that have no
 * values here (quantized and bits). */
ET_API et_status et_value_convert(const et_value* value, int32_t dtype, et_value* copy);

/* Takes a DLPack tensor: `managed` is a DLManagedTensor*, or a DLManagedTensorVersioned* when `versioned`
 * is not 0. On ET_OK the value owns it and et_value_release calls its deleter, once; on a failure the
 * caller still does. */
ET_API et_status et_value_from_dlpack(void* managed, int32_t versioned, et_value* value);
/* The reverse. `value` must have a hold; the new tensor shares it. The caller owns *managed and calls its
 * deleter. ET_NOT_SUPPORTED for a dtype that DLPack has no code for. */
ET_API et_status et_value_to_dlpack(const et_value* value, int32_t versioned, void** managed);

enum { ET_STATIC = 0, ET_DYNAMIC_BOUND = 1, ET_DYNAMIC_UNBOUND = 2 };

/* What a program says of an input, output, attribute or state buffer. 128 bytes. Pointers belong to the
 * program (or method, or state) that was asked; don't free them. */
typedef struct et_tensor_info {
  const char* name;         /* fully qualified name; "" when the file has none */
  const int64_t* sizes;     /* rank entries; for a dynamic tensor the largest sizes, -1 where unbounded */
  const uint8_t* dim_order; /* rank entries, outermost dimension first */
  int64_t nbytes;           /* at those sizes; 0 when unbounded */
  int32_t kind;             /* ET_KIND_...; what follows is 0 for kinds other than tensor, but `fixed` */
  int32_t dtype;
  int32_t rank;
  int32_t dynamism; /* ET_STATIC, ... */
  int32_t planned;  /* 1: the file plans memory for it (constants count as planned) */
  int32_t written;  /* 1: an input that the program writes in place */
  int32_t is_state; /* 1: lives from run to run */
  int32_t device_type;
  int32_t device_index;
  int32_t reserved0;
  union { /* the value that an int, double, bool or string input was exported with */
    int64_t as_int;
    double as_double;
    int32_t as_bool;
    const char* as_string;
  } fixed;
  int64_t reserved[6];
} et_tensor_info;

/* ---- Programs ---------------------------------------------------------------------------------------- */

typedef struct et_program et_program;

/* Both levels check the whole structure: after loading no index, offset or size is out of range. The two
 * names exist because ExecuTorch has them. */
enum { ET_VERIFY_MINIMAL = 0, ET_VERIFY_INTERNAL_CONSISTENCY = 1 };

/* Bytes that a caller provides piecewise. `read` fills `to` with [offset, offset + size) and returns ET_OK;
 * it may be called from any thread, at load and when weights are first needed. */
typedef struct et_source {
  size_t struct_size;
  uint64_t size;
  et_status (*read)(void* user_data, uint64_t offset, void* to, size_t size);
  void (*release)(void* user_data); /* called once when the source is needed no more; may be NULL */
  void* user_data;
  const char* name; /* for messages; may be NULL */
} et_source;

/* Bytes in memory, at any alignment. With `copy` set they are copied during the call; else the program
 * keeps using them until it calls `release` (which may be NULL). */
typedef struct et_buffer {
  size_t struct_size;
  const void* data;
  size_t size;
  int32_t copy;
  int32_t reserved0;
  void (*release)(void* user_data);
  void* user_data;
  const char* name; /* for messages; may be NULL */
} et_buffer;

typedef struct et_program_options {
  size_t struct_size;
  int32_t verification; /* ET_VERIFY_... */
  int32_t reserved0;
  const char* const* data_paths; /* .ptd files with external weights */
  size_t data_path_count;
  const et_buffer* data_buffers; /* .ptd contents in memory */
  size_t data_buffer_count;
} et_program_options;

/* Loads and verifies a program. The file stays mapped while the program lives; its structure is copied, so
 * that a file changed meanwhile can change a weight but nothing else. One cut short meanwhile ends the process
 * when weights beyond its end are read (SIGBUS): replace a file by renaming another over it. `options` may be NULL.
 * The caller owns *program and frees it with et_program_free.
 * ET_ACCESS_FAILED: unreadable; ET_INVALID_PROGRAM: not a sound program; ET_INVALID_EXTERNAL_DATA or
 * ET_NOT_FOUND: what the .ptd files hold or lack. */
ET_API et_status et_program_load_file(const char* path, const et_program_options* options, et_program** program);
/* `release` is called on a failure too, in both of these. */
ET_API et_status et_program_load_buffer(const et_buffer* buffer, const et_program_options* options,
                                        et_program** program);
ET_API et_status et_program_load_source(const et_source* source, const et_program_options* options,
                                        et_program** program);
ET_API void et_program_free(et_program* program);

ET_API size_t et_program_method_count(const et_program* program);
/* NULL past the end. It belongs to the program; don't free it. */
ET_API const char* et_program_method_name(const et_program* program, size_t index);
/* ET_OK when every operator and backend of `method` (NULL: of all methods) is here. Else the error names
 * every missing one with its count. */
ET_API et_status et_program_can_run(const et_program* program, const char* method);

/* A method's inputs, outputs and attributes without loading it. `info` belongs to the program. */
ET_API et_status et_program_input_count(const et_program* program, const char* method, size_t* count);
ET_API et_status et_program_input_info(const et_program* program, const char* method, size_t index,
                                       et_tensor_info* info);
ET_API et_status et_program_output_count(const et_program* program, const char* method, size_t* count);
ET_API et_status et_program_output_info(const et_program* program, const char* method, size_t index,
                                        et_tensor_info* info);
ET_API et_status et_program_attribute_count(const et_program* program, const char* method, size_t* count);
ET_API et_status et_program_attribute_info(const et_program* program, const char* method, size_t index,
                                           et_tensor_info* info);

/* Everything `etrt inspect` prints, as JSON: methods, inputs, outputs, operators with counts, delegates,
 * memory, state, segments, and what is missing here. The caller owns *json and frees it with et_text_free. */
ET_API et_status et_program_describe(const et_program* program, char** json);
ET_API void et_text_free(char* text);

/* ---- State ------------------------------------------------------------------------------------------- */

/* The buffers of a program that live from run to run (caches, counters). They start as stored in the file,
 * else as zeros. */
typedef struct et_state et_state;

/* An empty state. Methods loaded with it share its buffers of equal name, dtype and sizes, and add theirs;
 * only one of them runs at a time. The caller owns it and frees it with et_state_free. */
ET_API et_status et_state_new(et_state** state);
ET_API void et_state_free(et_state* state);
ET_API size_t et_state_count(const et_state* state);
ET_API et_status et_state_info(const et_state* state, size_t index, et_tensor_info* info);
/* Copies buffer `index` to or from `size` bytes; `size` must be its nbytes. */
ET_API et_status et_state_read(const et_state* state, size_t index, void* to, size_t size);
ET_API et_status et_state_write(et_state* state, size_t index, const void* from, size_t size);
/* Back to the initial values. */
ET_API et_status et_state_reset(et_state* state);
/* A state with the same buffers and contents. The caller owns *copy and frees it with et_state_free. */
ET_API et_status et_state_clone(const et_state* state, et_state** copy);

/* ---- Methods ----------------------------------------------------------------------------------------- */

typedef struct et_method et_method;

enum { ET_PLAN_DEFAULT = 0, ET_PLAN_AS_EXPORTED = 1, ET_PLAN_OPTIMIZED = 2 };

typedef struct et_allocator {
  /* `size` bytes aligned to `alignment`, or NULL. */
  void* (*allocate)(void* user_data, size_t size, size_t alignment);
  void (*free)(void* user_data, void* memory, size_t size);
  void* user_data;
} et_allocator;

typedef struct et_method_options {
  size_t struct_size;
  int32_t plan; /* ET_PLAN_...; the default comes from ETRT_PLAN, else as_exported */
  int32_t reserved0;
  et_state* state;               /* NULL: a state of the method's own */
  const et_allocator* allocator; /* of the arenas; copied; NULL: the system's */
  /* Bytes of arenas and state, and of each block of memory that a run asks for besides (temporary memory, tensors
   * whose sizes the file leaves open); 0: none. More is ET_MEMORY_ALLOCATION_FAILED. */
  uint64_t memory_limit;
  uint64_t step_limit; /* instructions of one run; 0: ten million */
} et_method_options;

/* Bytes that a loaded method needs, weights excepted. */
typedef struct et_memory_info {
  size_t struct_size;
  uint64_t planned_bytes; /* arenas */
  uint64_t state_bytes;
  uint64_t total_bytes;
  size_t arena_count;
} et_memory_info;

/* Known before anything is allocated. `info->struct_size` must be set. */
ET_API et_status et_method_memory(const et_program* program, const char* method, const et_method_options* options,
                                  et_memory_info* info);

/* Makes a method ready to run. Every call makes a new one with memory of its own; weights and plans are
 * shared. `options` may be NULL. The caller owns *method and frees it with et_method_free.
 * ET_NOT_FOUND: no such method, or a backend that isn't here; ET_OPERATOR_MISSING names all of them. */
ET_API et_status et_method_load(const et_program* program, const char* method_name, const et_method_options* options,
                                et_method** method);
/* Safe while another thread runs the method: it then goes away when that run ends. */
ET_API void et_method_free(et_method* method);

ET_API const char* et_method_name(const et_method* method);
ET_API size_t et_method_input_count(const et_method* method);
ET_API et_status et_method_input_info(const et_method* method, size_t index, et_tensor_info* info);
ET_API size_t et_method_output_count(const et_method* method);
ET_API et_status et_method_output_info(const et_method* method, size_t index, et_tensor_info* info);
/* Attributes: tensors with a name. */
ET_API size_t et_method_attribute_count(const et_method* method);
ET_API const char* et_method_attribute_name(const et_method* method, size_t index);
/* A view of the attribute's memory. It belongs to the method; don't free it. */
ET_API et_status et_method_attribute_get(const et_method* method, const char* name, et_value* value);
/* The state the method uses. The caller owns *state and frees it with et_state_free. */
ET_API et_status et_method_get_state(const et_method* method, et_state** state);

/* Binds an input. A tensor's memory is read at each run, from where it is: the method keeps using
 * value->u.as_tensor.data until the input is bound again or the method is freed; sizes, strides and strings
 * are copied now. Memory of another layout is converted at each run. The dtype must be the program's and the
 * sizes within its bounds; an int, double, bool or string must be the one the program was exported with. A
 * refused value leaves the input as it was. */
ET_API et_status et_method_set_input(et_method* method, size_t index, const et_value* value);
/* All inputs at once; none changes when one is refused. */
ET_API et_status et_method_set_inputs(et_method* method, const et_value* values, size_t count);
/* Gives an output memory to be written at each run: a tensor of the output's dtype whose sizes are the room
 * there is, with any strides that keep elements apart. The result is copied there at the end of the run, once;
 * et_method_get_output gives the method's own memory still, with the same numbers and the result's sizes. It may
 * lie over an input. The method keeps using it until NULL takes it back. Outputs whose memory overlaps are refused
 * by et_method_execute. */
ET_API et_status et_method_set_output(et_method* method, size_t index, const et_value* value);

/* Runs the method once. ET_INVALID_STATE: another thread is running it (or a method sharing its state), an
 * input was never set, or it was cancelled. */
ET_API et_status et_method_execute(et_method* method);
/* From any thread: makes the run in progress stop before its next step. */
ET_API void et_method_cancel(et_method* method);

/* Views of the last run's results. They belong to the method and are valid until its next run or its end,
 * unless held; don't free them. */
ET_API et_status et_method_get_output(const et_method* method, size_t index, et_value* value);
/* `values` has room for `count`, which must be et_method_output_count. */
ET_API et_status et_method_get_outputs(const et_method* method, et_value* values, size_t count);
/* Makes an output value (just got from `method`) keep its numbers: the method takes other memory for its next
 * run. The caller owns the hold and frees it with et_value_release, also after the method is gone.
 * ET_INVALID_STATE: the method has run again since, or another thread is running it. */
ET_API et_status et_value_hold(const et_method* method, et_value* value);

/* ---- Operators and backends of your own -------------------------------------------------------------- */

/* One call of an operator or delegate of yours. Valid during the call, on its thread. */
typedef struct et_call et_call;

/* Adds `text` to the error and returns `status` (ET_INTERNAL for ET_OK), to be returned by the callback. */
ET_API et_status et_call_fail(et_call* call, et_status status, const char* text);
/* Temporary memory, 64-byte aligned, freed when the call ends; NULL when there is none. */
ET_API void* et_call_temp(et_call* call, size_t size);
/* Gives tensor argument `index` new sizes; args[index] then has them, and perhaps other memory. */
ET_API et_status et_call_resize(et_call* call, size_t index, const int64_t* sizes, size_t rank);
/* Writes a number, bool or None to argument `index`, such as the result of an operator without outputs. */
ET_API et_status et_call_set(et_call* call, size_t index, const et_value* value);
/* The method being run or loaded. It belongs to the call; don't free it. */
ET_API const char* et_call_method_name(const et_call* call);
/* Bytes stored under `key` in the program or its .ptd files, for delegates; ET_NOT_FOUND if there are none.
 * They belong to the program; don't free them. */
ET_API et_status et_call_named_data(et_call* call, const char* key, const void** data, size_t* size);

/* `args`: every argument of the schema in order, outputs included, then the return slot (an output again, a
 * list of outputs, or the place of a result; none after a schema's "-> ()"). Tensors are views of the method's memory.
 * Those that a schema doesn't say are written have the flag ET_VALUE_READ_ONLY: they may be constants of the file. */
typedef et_status (*et_operator_fn)(et_call* call, et_value* args, size_t count, void* user_data);

/* Registers an operator for programs loaded from now on, for good. `name` is "my::op.out", or a whole schema
 * "my::op.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)" that says what is written; without one every tensor
 * argument counts as written. The library keeps using `user_data` for good.
 * ET_REGISTRATION_ALREADY_REGISTERED when the name is taken. */
ET_API et_status et_register_operator(const char* name, et_operator_fn fn, void* user_data);
ET_API size_t et_operator_count(void);
/* Sorted; NULL past the end. Static storage. */
ET_API const char* et_operator_name(size_t index);
/* Arguments and results of the operator, written as PyTorch does: "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"; ""
 * when it was registered without, NULL when there is no operator of that name. Static storage. */
ET_API const char* et_operator_schema(const char* name);

typedef struct et_compile_spec {
  const char* key;
  const void* value;
  size_t size;
} et_compile_spec;

/* A delegate implementation. Callbacks may be NULL except init and execute. */
typedef struct et_backend {
  size_t struct_size;
  const char* name; /* the id that programs name it by */
  void* user_data;
  int32_t (*is_available)(void* user_data);
  /* Called at method load. `payload` and `specs` belong to the program and live as long as the handle. */
  et_status (*init)(et_call* call, const void* payload, size_t size, const et_compile_spec* specs, size_t spec_count,
                    void** handle, void* user_data);
  /* `args`: inputs, then outputs. */
  et_status (*execute)(et_call* call, void* handle, et_value* args, size_t count, void* user_data);
  void (*destroy)(void* handle, void* user_data);
  et_status (*set_option)(const char* key, const et_value* value, void* user_data);
  et_status (*get_option)(const char* key, et_value* value, void* user_data);
} et_backend;

/* Copies the struct and its name. ET_REGISTRATION_ALREADY_REGISTERED when the name is taken. */
ET_API et_status et_register_backend(const et_backend* backend);
ET_API size_t et_backend_count(void);
/* NULL past the end. Static storage. */
ET_API const char* et_backend_name(size_t index);
/* 1 when a backend of that name is registered and says it can run. */
ET_API int32_t et_backend_is_available(const char* name);
ET_API et_status et_backend_set_option(const char* backend, const char* key, const et_value* value);
ET_API et_status et_backend_get_option(const char* backend, const char* key, et_value* value);

/* ---- Process-wide settings --------------------------------------------------------------------------- */

/* Threads that kernels may use, the calling one included. Starts as ETRT_NUM_THREADS, else the number of
 * cores this process may use. */
ET_API void et_set_thread_count(size_t count);
ET_API size_t et_thread_count(void);
/* Makes random operators repeat: the same seed and calls give the same numbers. */
ET_API void et_set_seed(uint64_t seed);

#ifdef __cplusplus
}
#endif

#endif /* ET_H_ */
