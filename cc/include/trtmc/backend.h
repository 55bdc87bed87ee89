// The backend border: what runs an engine. One DSO per backend, libtrtmc_backend_<name>.so.
//
//   Backend  ── load(blob, contract) ──▶  Engine  ── create_session() ──▶  Session
//   one per process                       weights, shared                 bindings + scratch of one caller
//
// Lifetime: Backend outlives its engines, allocators and DeviceTensors; Engine outlives its
// sessions. Threads: a Backend and an Engine may be used from several threads at once; a Session
// belongs to one thread at a time. Errors: every call returns a Status, none throws.
//
// A backend knows tensors by name and contract, never a model or a family.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "trtmc/abi.h"
#include "trtmc/contract.h"
#include "trtmc/status.h"
#include "trtmc/target.h"
#include "trtmc/tensor.h"

namespace trtmc {

// Where the cache tensors live. Zero-filled, aligned to at least 64 bytes on the host (256 on a
// device). The backend may ask the system for huge pages. Thread-safe.
class DeviceAllocator {
 public:
  virtual ~DeviceAllocator() = default;
  // "backend.out_of_memory" (kResource) says how much was asked for and what to lower.
  virtual Result<DeviceTensor> allocate(DType dtype, const Shape& shape) = 0;
};

// Engine bytes as stored in the bundle; usually a memory map, which the backend should use in
// place. `keepalive` owns the memory: hold it for as long as `bytes` is used.
struct EngineBlob {
  std::span<const std::byte> bytes;
  std::string name;    // section name, for messages
  std::string bundle;  // bundle id, key for per-user caches
  std::shared_ptr<const void> keepalive;
  // External weights: the engine's weight inputs by name, as dense host tensors of the dtype and
  // shape that the engine declares, already converted. Empty for an engine that embeds its weights.
  // They are no part of the contract: the backend binds them itself, once per engine, read-only
  // ("backend.missing_weight" for one that the engine needs and the map lacks). Like `bytes`, they
  // live as long as `keepalive`; a backend that copied them to a device may let go of it.
  TensorMap weights = {};
  TargetInfo target = {};  // what the engine was compiled for; check_target() said ok to it
};

struct EngineOptions {
  int threads = 0;        // 0: the backend decides
  std::string compute;    // "": the engine's own numerics; else a named, documented option ("bf16")
  std::string cache_dir;  // private per-user folder for what the backend compiles; "": none
  int device = 0;         // ordinal
};

// Bytes that an engine takes, known before sessions are made.
struct MemoryReport {
  std::uint64_t weights = 0;      // resident once per engine
  std::uint64_t per_session = 0;  // scratch; without the caller's bound tensors
  std::uint64_t available = 0;    // free on the device now; 0 if not known
};

// One caller's bindings and scratch memory.
//
// Bindings persist: a tensor stays bound until the name is bound again, so a decode step rebinds
// only what changed. The bound memory belongs to the caller, must stay alive and unchanged until
// the run that uses it has finished, and may hold new values at the next run. A dynamic dimension
// takes its size from the shapes bound at the time of run().
class Session {
 public:
  virtual ~Session() = default;

  // Binds an input. Dtype, rank and fixed sizes must agree with the contract
  // ("backend.bad_binding"). For the input of a state pair the memory is updated in place: the
  // paired output is bound to it too. State lives where DeviceAllocator put it; every other
  // tensor may be host memory, the backend stages it.
  virtual Status bind(std::string_view name, const Tensor& tensor) = 0;

  // Chooses the optimization profile by name for the runs that follow; bindings stay. The
  // contract's first profile is the default. A backend without profiles only checks the name.
  virtual Status set_profile(std::string_view name) = 0;

  // Runs once and returns when the outputs can be read. Every input must be bound.
  virtual Status run() = 0;

  // An output of the last run, readable on the host, valid until the next run(). For the output
  // of a state pair: the bound memory itself.
  virtual Result<Tensor> output(std::string_view name) = 0;
};

// A loaded engine: weights in memory, compiled for this machine.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual const Contract& contract() const = 0;
  virtual MemoryReport memory() const = 0;
  virtual Result<std::unique_ptr<Session>> create_session() = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;     // "openvino"
  virtual std::string_view version() const = 0;  // of the library that does the work

  // Ok if this machine can run bundles for `target`. Otherwise kTargetMismatch, naming what the
  // bundle needs and what is here. Asked before an engine is touched.
  virtual Status check_target(const TargetInfo& target) const = 0;

  virtual DeviceAllocator& allocator() = 0;

  // "backend.bad_engine" for bytes that are not an engine of this backend, naming the section;
  // "backend.contract_mismatch" if the engine's own inputs and outputs differ from `contract`.
  virtual Result<std::unique_ptr<Engine>> load(const EngineBlob& blob, const Contract& contract,
                                               const EngineOptions& options) = 0;
};

}  // namespace trtmc

extern "C" {

// What the one exported symbol returns: a pointer to a constant of the DSO, valid while it is
// loaded. The first two members never change their place; later ones are appended.
typedef struct TrtmcBackendV1 {
  size_t struct_size;  // sizeof(TrtmcBackendV1) as the DSO's compiler saw it
  TrtmcAbi abi;
  const char* name;  // "openvino"; UTF-8, zero-terminated, owned by the DSO
  // Makes the backend. On success *out (owned by the caller, deleted through its virtual
  // destructor) is set and true is returned; otherwise *error is assigned. Both are C++ objects:
  // call only after the fingerprints were found equal.
  bool (*create)(trtmc::Backend** out, trtmc::Status* error);
} TrtmcBackendV1;

typedef const TrtmcBackendV1* (*TrtmcBackendV1Fn)(void);
}

// Name of the exported symbol: `extern "C" const TrtmcBackendV1* trtmc_backend_v1();`
#define TRTMC_BACKEND_SYMBOL "trtmc_backend_v1"
#define TRTMC_EXPORT __attribute__((visibility("default")))
