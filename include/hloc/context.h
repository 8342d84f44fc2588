/* What a caller of compiled code may pass along. Plain C: object files' headers carry the same definition. */
#ifndef HLOC_CONTEXT_DEFINED
#define HLOC_CONTEXT_DEFINED
#include <stdint.h>

typedef struct hloc_context hloc_context;
struct hloc_context {
  uint32_t version;      /* 1 */
  uint32_t size;         /* sizeof(hloc_context), or of what extends it */
  const int64_t* dims;   /* reserved for dynamic shapes; 0 */
  void* user;            /* the caller's own */
  /* Calls body(state, i) for every i in [0, count), on any threads, and returns when all are done. 0: run serially. */
  void (*parallel_for)(const hloc_context* context, int64_t count, void (*body)(void* state, int64_t index),
                       void* state);
};
#endif
