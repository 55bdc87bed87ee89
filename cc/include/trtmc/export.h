// TRTMC_EXPORT_MODEL and TRTMC_EXPORT_BACKEND: the one exported symbol of a DSO in one line.
//
//   TRTMC_EXPORT_MODEL("llama", "llama_decoder_kv_cache", LlamaPlugin)
//   TRTMC_EXPORT_BACKEND("openvino", OpenVinoBackend::create)  // Result<std::unique_ptr<Backend>>()
//
// For the .cc file that defines the DSO's entry; at global scope, once.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "trtmc/backend.h"
#include "trtmc/model.h"

namespace trtmc {

// Calls `make` and hands its object over the border; an exception becomes a Status.
template <class Interface, class Make>
bool create_across_border(Interface** out, Status* error, Make make) noexcept {
  try {
    Result<std::unique_ptr<Interface>> made = make();
    if (!made.is_ok()) {
      *error = made.status();
      return false;
    }
    *out = std::move(made).value().release();
    return true;
  } catch (const std::exception& e) {
    *error = internal_error("dso.exception", std::string("creating it failed: ") + e.what());
  } catch (...) {
    *error = internal_error("dso.exception", "creating it failed with an unknown exception");
  }
  return false;
}

}  // namespace trtmc

#define TRTMC_EXPORT_MODEL(family_name, strategy_name, Plugin)                                \
  extern "C" TRTMC_EXPORT const TrtmcModelV1* trtmc_model_v1() {                              \
    static constexpr TrtmcModelV1 kModel = {                                                  \
        sizeof(TrtmcModelV1), ::trtmc::current_abi(), family_name, strategy_name,             \
        [](::trtmc::IPipelinePlugin** out, ::trtmc::Status* error) -> bool {                  \
          return ::trtmc::create_across_border(                                               \
              out, error, []() -> ::trtmc::Result<std::unique_ptr<::trtmc::IPipelinePlugin>> { \
                return std::make_unique<Plugin>();                                            \
              });                                                                             \
        }};                                                                                   \
    return &kModel;                                                                           \
  }

#define TRTMC_EXPORT_BACKEND(backend_name, make_backend)                                      \
  extern "C" TRTMC_EXPORT const TrtmcBackendV1* trtmc_backend_v1() {                          \
    static constexpr TrtmcBackendV1 kBackend = {                                              \
        sizeof(TrtmcBackendV1), ::trtmc::current_abi(), backend_name,                         \
        [](::trtmc::Backend** out, ::trtmc::Status* error) -> bool {                          \
          return ::trtmc::create_across_border(                                               \
              out, error, []() -> ::trtmc::Result<std::unique_ptr<::trtmc::Backend>> {        \
                return make_backend();                                                        \
              });                                                                             \
        }};                                                                                   \
    return &kBackend;                                                                         \
  }
