#include "cc/cabi/trtmc.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trtmc/load.h"

struct trtmc_pipeline {
  trtmc::LoadedTask<trtmc::TextGeneration> loaded;
  std::string warning;
};

struct trtmc_result {
  trtmc::GenerationResult value;
  std::string reason;
};

struct trtmc_error {
  std::string code, message;
};

namespace {

using namespace trtmc;
using Ids = std::vector<std::int32_t>;

int fail(const Status& status, trtmc_error** error) {
  if (error != nullptr) {
    *error = std::make_unique<trtmc_error>(trtmc_error{std::string(status.code()),
                                                       std::string(status.message())})
                 .release();
  }
  return status.exit_code();
}

// Runs `call`, a function that returns a Status, and lets no exception out.
template <class Call>
int guarded(trtmc_error** error, Call call) noexcept {
  try {
    const Status status = call();
    return status.is_ok() ? 0 : fail(status, error);
  } catch (...) {  // out of memory, most likely: nothing can be told but the class
    return static_cast<int>(ExitClass::kInternal);
  }
}

// The caller's struct over the defaults, as far as the caller's version of it reaches.
template <class Options>
Options merged(const Options& defaults, const Options* given) {
  Options made = defaults;
  if (given != nullptr) std::memcpy(&made, given, std::min(given->struct_size, sizeof(Options)));
  return made;
}

Status give_ids(Result<Ids> made, std::int32_t** ids, std::size_t* count) {
  if (!made.is_ok()) return made.status();
  auto copy = std::make_unique<std::int32_t[]>(made->size());
  std::copy(made->begin(), made->end(), copy.get());
  *count = made->size();
  *ids = copy.release();
  return Status::ok();
}

Result<const TextCodec*> codec_of(const trtmc_pipeline& pipeline) {
  const TextCodec* codec = pipeline.loaded.task->text();
  if (codec == nullptr) return unsupported("generate.no_tokenizer", "the bundle has no tokenizer");
  return codec;
}

GenerationOptions to_options(const trtmc_generate_options& o) {
  GenerationOptions made;
  made.sampling = {.temperature = o.temperature,
                   .top_k = o.top_k,
                   .top_p = o.top_p,
                   .min_p = o.min_p,
                   .repetition_penalty = o.repetition_penalty,
                   .frequency_penalty = o.frequency_penalty,
                   .presence_penalty = o.presence_penalty,
                   .seed = o.seed};
  made.max_new_tokens = o.max_new_tokens;
  made.ignore_eos = o.ignore_eos != 0;
  for (std::size_t i = 0; i < o.stop_count; ++i) made.stop.emplace_back(o.stop[i]);
  return made;
}

}  // namespace

extern "C" {

std::uint32_t trtmc_c_api_version(void) { return TRTMC_C_API_VERSION; }

void trtmc_load_options_init(trtmc_load_options* options) {
  *options = {sizeof(trtmc_load_options), nullptr, nullptr, 0, 0, 0, nullptr, -1};
}

int trtmc_load(const char* path, const trtmc_load_options* given, trtmc_pipeline** out,
               trtmc_error** error) {
  return guarded(error, [&]() -> Status {
    trtmc_load_options defaults;
    trtmc_load_options_init(&defaults);
    const trtmc_load_options o = merged(defaults, given);
    LoadOptions options;
    options.runtime_root = o.runtime_root != nullptr ? o.runtime_root : "";
    options.compute = o.compute != nullptr ? o.compute : "";
    options.max_sequence = o.max_sequence;
    options.threads = o.threads;
    options.verify = o.verify_full != 0 ? Verify::kFull : Verify::kLazy;
    options.target = o.target != nullptr ? o.target : "";
    if (o.device >= 0) options.device = o.device;
    std::string warning;
    options.on_warning = [&](const LoadWarning& w) { warning = w.message; };
    TRTMC_ASSIGN_OR_RETURN(auto loaded, load_task<TextGeneration>(path, options));
    *out = std::make_unique<trtmc_pipeline>(trtmc_pipeline{std::move(loaded), std::move(warning)}).release();
    return Status::ok();
  });
}

const char* trtmc_load_warning(const trtmc_pipeline* pipeline) {
  return pipeline->warning.c_str();
}

void trtmc_pipeline_free(trtmc_pipeline* pipeline) {
  const std::unique_ptr<trtmc_pipeline> owned(pipeline);
}

std::int64_t trtmc_vocab_size(const trtmc_pipeline* pipeline) {
  return pipeline->loaded.task->info().vocab_size;
}

std::int64_t trtmc_max_sequence(const trtmc_pipeline* pipeline) {
  return pipeline->loaded.task->info().max_sequence;
}

void trtmc_reset(trtmc_pipeline* pipeline) { pipeline->loaded.task->reset(); }

int trtmc_encode(const trtmc_pipeline* pipeline, const char* text, std::int32_t** ids,
                 std::size_t* count, trtmc_error** error) {
  return guarded(error, [&]() -> Status {
    TRTMC_ASSIGN_OR_RETURN(const TextCodec* const codec, codec_of(*pipeline));
    return give_ids(codec->encode(text, {}), ids, count);
  });
}

int trtmc_encode_chat(const trtmc_pipeline* pipeline, const char* messages_json,
                      std::int32_t** ids, std::size_t* count, trtmc_error** error) {
  return guarded(error, [&]() -> Status {
    TRTMC_ASSIGN_OR_RETURN(const TextCodec* const codec, codec_of(*pipeline));
    return give_ids(codec->encode_chat(messages_json, {}), ids, count);
  });
}

void trtmc_ids_free(std::int32_t* ids) { const std::unique_ptr<std::int32_t[]> owned(ids); }

void trtmc_generate_options_init(const trtmc_pipeline* pipeline, trtmc_generate_options* options) {
  const SamplingOptions s = pipeline->loaded.task->default_sampling();
  *options = {sizeof(trtmc_generate_options), s.temperature, s.top_p, s.min_p,
              s.repetition_penalty, s.frequency_penalty, s.presence_penalty, s.top_k, s.seed,
              GenerationOptions().max_new_tokens, nullptr, 0, 0};
}

int trtmc_generate(trtmc_pipeline* pipeline, const std::int32_t* ids, std::size_t count,
                   const trtmc_generate_options* given, trtmc_token_fn on_token, void* user,
                   trtmc_result** out, trtmc_error** error) {
  return guarded(error, [&]() -> Status {
    trtmc_generate_options defaults;
    trtmc_generate_options_init(pipeline, &defaults);
    GenerationHooks hooks;
    if (on_token != nullptr) {
      hooks.on_token = [&](const TokenEvent& event) {
        return on_token(user, event.id, event.text.data(), event.text.size()) != 0;
      };
    }
    TRTMC_ASSIGN_OR_RETURN(
        GenerationResult result,
        pipeline->loaded.task->generate({ids, count}, to_options(merged(defaults, given)), hooks));
    std::string reason(finish_reason_name(result.reason));
    *out = std::make_unique<trtmc_result>(trtmc_result{std::move(result), std::move(reason)})
               .release();
    return Status::ok();
  });
}

const std::int32_t* trtmc_result_ids(const trtmc_result* result, std::size_t* count) {
  *count = result->value.ids.size();
  return result->value.ids.data();
}

const char* trtmc_result_text(const trtmc_result* result) { return result->value.text.c_str(); }

const char* trtmc_result_finish_reason(const trtmc_result* result) {
  return result->reason.c_str();
}

void trtmc_result_free(trtmc_result* result) { const std::unique_ptr<trtmc_result> owned(result); }

int trtmc_logits(trtmc_pipeline* pipeline, const std::int32_t* ids, std::size_t count,
                 const float** logits, trtmc_error** error) {
  return guarded(error, [&]() -> Status {
    TRTMC_ASSIGN_OR_RETURN(const LogitsView view,
                           pipeline->loaded.task->logits({ids, count}, 0));
    *logits = view.data;
    return Status::ok();
  });
}

const char* trtmc_error_code(const trtmc_error* error) { return error->code.c_str(); }
const char* trtmc_error_message(const trtmc_error* error) { return error->message.c_str(); }
void trtmc_error_free(trtmc_error* error) { const std::unique_ptr<trtmc_error> owned(error); }

}  // extern "C"
