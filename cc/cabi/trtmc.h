/* The runtime for C: load a bundle, generate, read logits. Shared library libtrtmc.so.
 *
 *   trtmc_error* error = NULL;
 *   trtmc_pipeline* llm = NULL;
 *   if (trtmc_load("x.bundle", NULL, &llm, &error) != 0) {
 *     fprintf(stderr, "%s\n", trtmc_error_message(error));
 *     trtmc_error_free(error);
 *   }
 *
 * Calls return 0, or the exit class of the failure (2 usage, 3 bad input, … as documented for the
 * program) and then set *error, which the caller frees; `error` may be NULL. Outputs are set on
 * success only. Strings are UTF-8 and end with zero. One call at a time on one pipeline.
 *
 * Option structs begin with their size, so that they can grow: fill them with the init function.
 */
#ifndef TRTMC_CABI_TRTMC_H_
#define TRTMC_CABI_TRTMC_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TRTMC_C_API_VERSION 1

typedef struct trtmc_pipeline trtmc_pipeline;
typedef struct trtmc_result trtmc_result;
typedef struct trtmc_error trtmc_error;

typedef struct trtmc_load_options {
  size_t struct_size;
  const char* runtime_root; /* NULL: beside libtrtmc.so */
  const char* compute;      /* NULL: the bundle's own numerics */
  int64_t max_sequence;     /* 0: the bundle's limit */
  int32_t threads;          /* 0: automatic */
  int32_t verify_full;      /* 1: check every byte first */
  const char* target;       /* one of the bundle's; NULL: the best for this machine */
  int32_t device;           /* number of a GPU: that one or a failure; -1: the first that fits */
} trtmc_load_options;

typedef struct trtmc_generate_options {
  size_t struct_size;
  double temperature, top_p, min_p;
  double repetition_penalty, frequency_penalty, presence_penalty;
  int64_t top_k;
  uint64_t seed;
  int64_t max_new_tokens;
  const char* const* stop; /* stop_count texts */
  size_t stop_count;
  int32_t ignore_eos;
} trtmc_generate_options;

/* One generated id and the text that may be shown now, not zero-terminated; id -1 brings the last
 * rest of text. Return 0 to end generation. */
typedef int (*trtmc_token_fn)(void* user, int32_t id, const char* text, size_t text_size);

uint32_t trtmc_c_api_version(void);

void trtmc_load_options_init(trtmc_load_options* options);
int trtmc_load(const char* path, const trtmc_load_options* options, trtmc_pipeline** out,
               trtmc_error** error);
/* What the load has to say although it succeeded, or "": the bundle runs on the CPU because the
 * library or the driver for this machine's GPU is missing. The pipeline's memory. */
const char* trtmc_load_warning(const trtmc_pipeline* pipeline);
void trtmc_pipeline_free(trtmc_pipeline* pipeline);

int64_t trtmc_vocab_size(const trtmc_pipeline* pipeline);
int64_t trtmc_max_sequence(const trtmc_pipeline* pipeline);
void trtmc_reset(trtmc_pipeline* pipeline);

/* *ids belongs to the caller: trtmc_ids_free. `messages_json` is [{"role":…,"content":…},…]. */
int trtmc_encode(const trtmc_pipeline* pipeline, const char* text, int32_t** ids, size_t* count,
                 trtmc_error** error);
int trtmc_encode_chat(const trtmc_pipeline* pipeline, const char* messages_json, int32_t** ids,
                      size_t* count, trtmc_error** error);
void trtmc_ids_free(int32_t* ids);

/* The checkpoint's own settings, max_new_tokens 256. */
void trtmc_generate_options_init(const trtmc_pipeline* pipeline, trtmc_generate_options* options);
/* `options` may be NULL, and so may `on_token`. The result belongs to the caller. */
int trtmc_generate(trtmc_pipeline* pipeline, const int32_t* ids, size_t count,
                   const trtmc_generate_options* options, trtmc_token_fn on_token, void* user,
                   trtmc_result** out, trtmc_error** error);
const int32_t* trtmc_result_ids(const trtmc_result* result, size_t* count);
const char* trtmc_result_text(const trtmc_result* result);
const char* trtmc_result_finish_reason(const trtmc_result* result);
void trtmc_result_free(trtmc_result* result);

/* Row-major float32 [count, vocab]; the pipeline's memory, valid until its next call. */
int trtmc_logits(trtmc_pipeline* pipeline, const int32_t* ids, size_t count, const float** logits,
                 trtmc_error** error);

const char* trtmc_error_code(const trtmc_error* error);
const char* trtmc_error_message(const trtmc_error* error);
void trtmc_error_free(trtmc_error* error);

#ifdef __cplusplus
}
#endif

#endif /* TRTMC_CABI_TRTMC_H_ */
