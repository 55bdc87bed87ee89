/* ABI fingerprint: what must be equal before a C++ object may cross a DSO border.
 *
 * This header is plain C up to the marked line, so that any compiler can read a fingerprint.
 * Each DSO (backend.h, model.h) exports one C symbol that returns a size-first struct starting
 * with struct_size and a TrtmcAbi. The host compares the fingerprint field by field and refuses
 * the DSO with the first difference named, before it calls anything else in it.
 */
#ifndef TRTMC_ABI_H_
#define TRTMC_ABI_H_

#include <stddef.h>
#include <stdint.h>

/* Raise when a class or struct in these headers changes its layout or its virtual functions.
 * 2: EngineBlob has `weights` and `target`, and a bundle's header holds several targets.
 * 1: first version; never released. */
#define TRTMC_ABI_NUMBER 2u

typedef struct TrtmcAbi {
  uint32_t struct_size;      /* sizeof(TrtmcAbi) as the DSO's compiler saw it */
  uint32_t trtmc_abi;        /* TRTMC_ABI_NUMBER */
  uint32_t compiler;         /* 1 gcc, 2 clang, 0 other */
  uint32_t compiler_major;   /* __GNUC__ or __clang_major__; recorded for messages, not compared */
  uint32_t cxx_abi;          /* __GXX_ABI_VERSION; recorded for messages, not compared */
  uint32_t cxx11_abi;        /* _GLIBCXX_USE_CXX11_ABI */
  uint32_t cplusplus;        /* __cplusplus */
  uint32_t debug_mode;       /* _GLIBCXX_DEBUG changes the layout of containers */
  uint32_t sizeof_pointer;
  uint32_t sizeof_string;
  uint32_t sizeof_vector;
  uint32_t sizeof_function;  /* std::function<void()> */
  uint32_t sizeof_status;
  uint32_t sizeof_tensor;
  uint32_t sizeof_contract;
  uint32_t reserved;         /* 0 */
} TrtmcAbi;

#ifdef __cplusplus
/* C++ from here on. */
#include <functional>
#include <string>
#include <vector>

#include "trtmc/contract.h"
#include "trtmc/status.h"
#include "trtmc/tensor.h"

static_assert(sizeof(TrtmcAbi) == 64, "the layout of TrtmcAbi is fixed");
static_assert(offsetof(TrtmcAbi, cxx11_abi) == 20, "the layout of TrtmcAbi is fixed");

namespace trtmc {

// The fingerprint of the code that includes this header. `constexpr`, so a DSO can put it into a
// constant and the host reads it without running the DSO's code.
constexpr TrtmcAbi current_abi() {
  TrtmcAbi abi{};
  abi.struct_size = sizeof(TrtmcAbi);
  abi.trtmc_abi = TRTMC_ABI_NUMBER;
#if defined(__clang__)
  abi.compiler = 2;
  abi.compiler_major = __clang_major__;
#elif defined(__GNUC__)
  abi.compiler = 1;
  abi.compiler_major = __GNUC__;
#endif
#ifdef __GXX_ABI_VERSION
  abi.cxx_abi = __GXX_ABI_VERSION;
#endif
#ifdef _GLIBCXX_USE_CXX11_ABI
  abi.cxx11_abi = _GLIBCXX_USE_CXX11_ABI;
#endif
  abi.cplusplus = static_cast<std::uint32_t>(__cplusplus);
#ifdef _GLIBCXX_DEBUG
  abi.debug_mode = 1;
#endif
  abi.sizeof_pointer = sizeof(void*);
  abi.sizeof_string = sizeof(std::string);
  abi.sizeof_vector = sizeof(std::vector<int>);
  abi.sizeof_function = sizeof(std::function<void()>);
  abi.sizeof_status = sizeof(Status);
  abi.sizeof_tensor = sizeof(Tensor);
  abi.sizeof_contract = sizeof(Contract);
  return abi;
}

// Ok, or "dso.abi_mismatch" naming the first field that differs with both values. gcc and clang
// share the Itanium C++ ABI and one standard library, so the compiler itself is not compared;
// what decides is what the layouts depend on.
inline Status check_abi(const TrtmcAbi& found) {
  const TrtmcAbi want = current_abi();
  struct Field {
    const char* name;
    std::uint32_t TrtmcAbi::*member;
  };
  constexpr Field kFields[] = {
      {"struct_size", &TrtmcAbi::struct_size},
      {"trtmc_abi", &TrtmcAbi::trtmc_abi},
      {"cxx11_abi", &TrtmcAbi::cxx11_abi},
      {"cplusplus", &TrtmcAbi::cplusplus},
      {"debug_mode", &TrtmcAbi::debug_mode},
      {"sizeof_pointer", &TrtmcAbi::sizeof_pointer},
      {"sizeof_string", &TrtmcAbi::sizeof_string},
      {"sizeof_vector", &TrtmcAbi::sizeof_vector},
      {"sizeof_function", &TrtmcAbi::sizeof_function},
      {"sizeof_status", &TrtmcAbi::sizeof_status},
      {"sizeof_tensor", &TrtmcAbi::sizeof_tensor},
      {"sizeof_contract", &TrtmcAbi::sizeof_contract},
  };
  for (const Field& field : kFields) {
    if (found.*field.member != want.*field.member) {
      return missing_component(
          "dso.abi_mismatch",
          std::string("its ABI differs from this program's: ") + field.name + " is " +
              std::to_string(found.*field.member) + ", expected " +
              std::to_string(want.*field.member) +
              "; install the runtime's program and libraries from one release");
    }
  }
  return Status::ok();
}

}  // namespace trtmc
#endif /* __cplusplus */
#endif /* TRTMC_ABI_H_ */
