/* The C border of the Rust text library: Hugging Face tokenizers and MiniJinja.
 *
 * Functions that can fail return 0 for success, or else an exit class of trtmc/status.h, and then
 * store "slug\nsentence" in `error`. Spans are borrowed for the length of the call; buffers belong
 * to the caller and go back through trtmc_text_free. Texts are UTF-8 and not NUL-terminated; one
 * that is not UTF-8 is the error "text.invalid_utf8", which names the byte. No panic gets out.
 *
 * Threads: tokenizers and templates are immutable and can be shared; a stream belongs to one
 * thread at a time and keeps its tokenizer alive. Private to //cc/text: C++ code uses tokenizer.h,
 * chat_template.h and chat.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TrtmcTextBuffer {
  uint8_t* data;
  size_t size;
  size_t capacity;
} TrtmcTextBuffer;

typedef struct TrtmcTextSpan {
  const char* data;
  size_t size;
} TrtmcTextSpan;

typedef struct TrtmcTextTokenizer TrtmcTextTokenizer;
typedef struct TrtmcTextStream TrtmcTextStream;
typedef struct TrtmcTextTemplate TrtmcTextTemplate;

/* JSON texts; an empty one means null. */
typedef struct TrtmcTextChatRequest {
  TrtmcTextSpan messages;       /* list of objects with role and content */
  TrtmcTextSpan tools;          /* list of JSON schemas */
  TrtmcTextSpan documents;      /* list of objects */
  TrtmcTextSpan variables;      /* object: further template variables */
  TrtmcTextSpan template_name;  /* which of several templates; no JSON; empty: as the tools say */
  TrtmcTextSpan continue_field; /* field of the last message to go on with; no JSON; empty: none */
  bool add_generation_prompt;
  bool fixed_clock; /* strftime_now reads the two fields below, not the machine's clock */
  int64_t clock_seconds;    /* since 1970, UTC */
  int64_t clock_utc_offset; /* seconds that local time is ahead of UTC */
} TrtmcTextChatRequest;

void trtmc_text_free(TrtmcTextBuffer buffer);

/* `config` is tokenizer_config.json or empty. */
int trtmc_text_tokenizer_open(TrtmcTextSpan json, TrtmcTextSpan config, TrtmcTextTokenizer** out,
                              TrtmcTextBuffer* error);
void trtmc_text_tokenizer_close(TrtmcTextTokenizer* tokenizer);

/* `ids`: native uint32_t. add_special runs the post-processor (BOS and the like); without
 * parse_special the text of a special token is read as the characters it is written with. */
int trtmc_text_encode(const TrtmcTextTokenizer* tokenizer, TrtmcTextSpan text, bool add_special,
                      bool parse_special, TrtmcTextBuffer* ids, TrtmcTextBuffer* error);
int trtmc_text_decode(const TrtmcTextTokenizer* tokenizer, const uint32_t* ids, size_t count,
                      bool skip_special, TrtmcTextBuffer* text, TrtmcTextBuffer* error);
size_t trtmc_text_vocab_size(const TrtmcTextTokenizer* tokenizer);
/* The id, or -1. */
int64_t trtmc_text_token_id(const TrtmcTextTokenizer* tokenizer, TrtmcTextSpan token);
/* 1 special, 0 ordinary, -1 no such id (then `text` is untouched). */
int trtmc_text_token(const TrtmcTextTokenizer* tokenizer, uint32_t id, TrtmcTextBuffer* text);

/* Pieces are final and join to the decoded whole. After finish the stream is as new. */
TrtmcTextStream* trtmc_text_stream_open(const TrtmcTextTokenizer* tokenizer, bool skip_special);
void trtmc_text_stream_close(TrtmcTextStream* stream);
int trtmc_text_stream_step(TrtmcTextStream* stream, uint32_t id, TrtmcTextBuffer* piece,
                           TrtmcTextBuffer* error);
int trtmc_text_stream_finish(TrtmcTextStream* stream, TrtmcTextBuffer* piece,
                             TrtmcTextBuffer* error);

/* `file` is chat_template.jinja, which comes before the template in `config`; either may be empty. */
int trtmc_text_template_open(TrtmcTextSpan file, TrtmcTextSpan config, TrtmcTextTemplate** out,
                             TrtmcTextBuffer* error);
void trtmc_text_template_close(TrtmcTextTemplate* chat_template);
int trtmc_text_render(const TrtmcTextTemplate* chat_template, const TrtmcTextChatRequest* chat,
                      TrtmcTextBuffer* text, TrtmcTextBuffer* error);

/* Renders and encodes; unless special_in_content, special tokens inside messages are plain text. */
int trtmc_text_encode_chat(const TrtmcTextTokenizer* tokenizer,
                           const TrtmcTextTemplate* chat_template,
                           const TrtmcTextChatRequest* chat, bool special_in_content,
                           TrtmcTextBuffer* ids, TrtmcTextBuffer* text, TrtmcTextBuffer* error);

#ifdef __cplusplus
}
#endif
