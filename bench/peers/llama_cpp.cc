// llama.cpp as a bench peer: greedy decoding of fixed ids, timed token by token.
//
// Knows llama.cpp's C interface and the bench protocol (see common.py): reads prompts from $BENCH_PROMPTS (one line of
// ids each), prints one RESULT line. Knows nothing of our product.
//
//   peer_llama_cpp MODEL.gguf LABEL
#include <sys/resource.h>
#include <sys/time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "llama.h"

namespace {

double now() {
  timeval t{};
  gettimeofday(&t, nullptr);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

int number_from(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : otherwise;
}

std::string joined(const std::vector<double>& values) {
  std::ostringstream out;
  for (size_t i = 0; i < values.size(); ++i) out << (i != 0 ? "," : "") << values[i];
  return out.str();
}

struct Timing {
  std::vector<double> prefill_s, step_s;
  std::vector<std::vector<llama_token>> ids;
  double first_token_s = 0;
};

// One generation; false when the library refuses to decode.
bool generate(llama_context* context, int vocab, std::vector<llama_token> prompt, int new_tokens,
              double start, Timing& timing) {
  llama_memory_clear(llama_get_memory(context), true);
  std::vector<llama_token> made;
  const double begin = now();
  double first = 0;
  llama_token token = 0;
  for (int i = 0; i < new_tokens; ++i) {
    const llama_batch batch = i == 0
        ? llama_batch_get_one(prompt.data(), static_cast<int>(prompt.size()))
        : llama_batch_get_one(&token, 1);
    if (llama_decode(context, batch) != 0) return false;
    const float* logits = llama_get_logits_ith(context, -1);
    token = static_cast<llama_token>(std::max_element(logits, logits + vocab) - logits);
    made.push_back(token);
    if (i == 0) first = now();
  }
  const double end = now();
  if (timing.ids.empty()) timing.first_token_s = first - start;
  timing.prefill_s.push_back(first - begin);
  timing.step_s.push_back((end - first) / std::max(1, new_tokens - 1));
  timing.ids.push_back(std::move(made));
  return true;
}

void print_result(const char* label, const Timing& timing) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::ostringstream ids;
  for (size_t p = 0; p < timing.ids.size(); ++p) {
    ids << (p != 0 ? ",[" : "[");
    for (size_t i = 0; i < timing.ids[p].size(); ++i) ids << (i != 0 ? "," : "") << timing.ids[p][i];
    ids << "]";
  }
  std::printf(
      "RESULT {\"name\":\"%s\",\"prefill_s\":[%s],\"step_s\":[%s],\"first_token_s\":%f,"
      "\"rss_mb\":%.1f,\"ids\":[%s]}\n",
      label, joined(timing.prefill_s).c_str(), joined(timing.step_s).c_str(), timing.first_token_s,
      static_cast<double>(usage.ru_maxrss) / 1024.0, ids.str().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char* started = std::getenv("BENCH_START");
  const double start = started != nullptr ? std::atof(started) : now();
  const int threads = number_from("BENCH_THREADS", 2);
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  llama_backend_init();
  llama_model* model = llama_model_load_from_file(argv[1], llama_model_default_params());
  if (model == nullptr) return 1;
  auto parameters = llama_context_default_params();
  parameters.n_ctx = 512;
  parameters.n_batch = 512;
  parameters.n_threads = parameters.n_threads_batch = threads;
  parameters.no_perf = true;
  llama_context* context = llama_init_from_model(model, parameters);
  if (context == nullptr) return 1;
  const int vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
  std::ifstream prompts(std::getenv("BENCH_PROMPTS"));
  Timing timing;
  for (std::string line; std::getline(prompts, line);) {
    std::istringstream words(line);
    std::vector<llama_token> prompt;
    for (llama_token id = 0; words >> id;) prompt.push_back(id);
    if (!generate(context, vocab, prompt, number_from("BENCH_NEW_TOKENS", 128), start, timing)) return 1;
  }
  print_result(argv[2], timing);
  llama_free(context);
  llama_model_free(model);
  return 0;
}
