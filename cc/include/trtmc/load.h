// trtmc::load: from a bundle file to a pipeline. Start reading here.
//
//   auto pipeline = trtmc::load("smollm2.bundle", {});
//   if (!pipeline.is_ok()) { report(pipeline.status()); return; }
//   trtmc::TextGeneration* llm = (*pipeline)->text_generation();
//
// What happens: the bundle is opened and checked; of its targets the one is chosen that runs here
// (this very GPU before a range of GPUs before the CPU); it names the backend DSO, the runtime
// strategy the model DSO; both are looked for only in the runtime's own library folder (see
// LoadOptions::runtime_root), compared with this program's ABI, and asked to build the pipeline.
// No environment variable and no current folder takes part in the search.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "trtmc/pipeline.h"
#include "trtmc/status.h"

namespace trtmc {

enum class Verify {
  kLazy,  // each section before its first use
  kFull,  // every byte of the file, now
};

// What a load that succeeds still has to say. `code` is stable, as Status::code().
struct LoadWarning {
  std::string code;
  std::string message;
};

struct LoadOptions {
  // Folder that holds lib/trtmc/ (or lib/). Empty: the one that this program or Python module
  // itself lies in.
  std::string runtime_root;
  Verify verify = Verify::kLazy;
  int threads = 0;                // 0: the backend decides
  std::string compute;            // named faster numerics, "" for the bundle's own
  std::int64_t max_sequence = 0;  // cache rows; 0: the bundle's limit
  // Number of the GPU to run on: that one or a failure, never the CPU. Absent: the first that fits.
  std::optional<int> device;
  std::string target;  // one of the bundle's targets by name; "": the best one for this machine
  // "load.gpu_unused": a bundle for GPU and CPU runs on the CPU because the library or the driver
  // for this machine's GPU is missing; the sentence names it. Called before load() returns.
  std::function<void(const LoadWarning&)> on_warning;
};

// Errors, beside those of the bundle reader: "load.no_target" (lists what the bundle holds
// and why none of it runs here), "load.unknown_target", "load.unknown_strategy", "load.missing_dso",
// "load.unsafe_dso", "dso.no_symbol", "dso.abi_mismatch", and what Backend::check_target says.
Result<std::unique_ptr<IPipeline>> load(const std::string& path, const LoadOptions& options);

// A pipeline together with the one task that the caller is about to use.
template <class Task>
struct LoadedTask {
  std::unique_ptr<IPipeline> pipeline;
  Task* task = nullptr;  // owned by pipeline
};

// Like load, and "load.wrong_task" if the bundle does not serve Task.
template <class Task>
Result<LoadedTask<Task>> load_task(const std::string& path, const LoadOptions& options) {
  TRTMC_ASSIGN_OR_RETURN(std::unique_ptr<IPipeline> pipeline, load(path, options));
  Task* task = task_of<Task>(*pipeline);
  if (task == nullptr) {
    return usage_error("load.wrong_task", path + ": the bundle serves task \"" +
                       pipeline->header().task + "\", not \"" + std::string(Task::kTask) + "\"");
  }
  return LoadedTask<Task>{std::move(pipeline), task};
}

}  // namespace trtmc
