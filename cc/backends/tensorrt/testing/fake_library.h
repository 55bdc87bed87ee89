// FakeLibrary: a test double behind the backend's interface to TensorRT. Its plans are table models
// (cc/testing/table_backend.h) and its contexts run them, on a FakeDevice, when the stream gets to
// it: with the addresses and shapes that the context was told, and no others.
//
// It answers as TensorRT does where the difference matters: a context without an address, shape,
// profile or scratch memory refuses to run; state that is not in place is an error.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cc/backends/tensorrt/library.h"
#include "cc/backends/tensorrt/testing/fake_device.h"
#include "cc/testing/table_backend.h"
#include "trtmc/contract.h"

namespace trtmc::tensorrt::testing {

// What the plan says about itself; a test changes it to be another than the bundle's contract.
struct FakePlanFacts {
  Contract contract;
  std::map<std::string, Tensor> weights;  // inputs beyond the contract: dtype and shape
  std::uint64_t scratch_bytes = 4096;     // of profile i: (i + 1) times as much
  std::vector<std::string> on_host;       // inputs that the plan wants on the host
};

struct FakeLibraryLog {
  std::vector<std::string>
      calls;  // "deserialize 123 jit 0", "context eager", "shape input_ids [1, 3]", …
  std::shared_ptr<trtmc::testing::RunLog> runs = std::make_shared<trtmc::testing::RunLog>();
  std::map<std::string, void*> addresses;  // last told, by tensor
  int contexts = 0;                        // alive
  std::string take();
};

class FakeLibrary final : public Library {
 public:
  // `facts` outlives this; each plan has them as they are when it is deserialized.
  FakeLibrary(std::shared_ptr<FakeDevice> device, const FakePlanFacts& facts,
              std::shared_ptr<FakeLibraryLog> log)
      : device_(std::move(device)), facts_(facts), log_(std::move(log)) {}

  std::string_view version() const override { return "1.7.1"; }
  Result<std::unique_ptr<Plan>> deserialize(std::span<const std::byte> plan,
                                            std::span<const std::byte> jit_cache) override;

 private:
  std::shared_ptr<FakeDevice> device_;
  const FakePlanFacts& facts_;
  std::shared_ptr<FakeLibraryLog> log_;
};

}  // namespace trtmc::tensorrt::testing
