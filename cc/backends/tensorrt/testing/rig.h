// A backend over the doubles, as tests set it up: the machine, the device and the library that it
// would find, all to be changed before load().
#pragma once

#include <memory>
#include <string>

#include "cc/backends/tensorrt/backend.h"
#include "cc/backends/tensorrt/testing/fake_device.h"
#include "cc/backends/tensorrt/testing/fake_library.h"

namespace trtmc::tensorrt::testing {

inline const TargetInfo kSm89 = {"sm_89", "tensorrt_rtx", "1.7.1.116", "13.0", "8.9",
                                 "linux", "x86_64"};

struct Rig {
  explicit Rig(const trtmc::testing::TableModel& table,
               const trtmc::testing::TableLimits& limits = {}) {
    model = table;
    contract = facts.contract = trtmc::testing::table_contract(table.vocab, limits);
    machine.driver = true;
    machine.driver_version = "580.1";
    machine.gpus = {{0, "Fake GPU", 8, 9, std::uint64_t{1} << 30}};
    blob.name = "engines/llm";
    blob.bundle = "0123";
    blob.target = kSm89;
  }

  Backend& backend() {
    if (!backend_) {
      backend_ = std::make_unique<TensorRtBackend>(
          Providers{[this] { return machine; },
                    [this](int) -> Result<DevicePtr> { return DevicePtr(use_device()); },
                    [this](const TargetInfo&) -> Result<std::shared_ptr<Library>> {
                      if (!library_status.is_ok()) return library_status;
                      return std::shared_ptr<Library>(
                          std::make_shared<FakeLibrary>(use_device(), facts, library));
                    },
                    "11.1.0"});
    }
    return *backend_;
  }

  // What a bundle's section holds is the table model.
  Result<std::unique_ptr<Engine>> load() {
    plan = model.serialize();
    blob.bytes = plan;
    return backend().load(blob, contract, options);
  }

  trtmc::testing::TableModel model;
  Contract contract;
  FakePlanFacts facts;
  GpuMachine machine;
  EngineBlob blob;
  EngineOptions options;
  std::uint64_t memory = std::uint64_t{1} << 30;
  Status library_status = Status::ok();
  std::vector<std::byte> plan;
  std::shared_ptr<DeviceLog> device_log = std::make_shared<DeviceLog>();
  std::shared_ptr<FakeLibraryLog> library = std::make_shared<FakeLibraryLog>();
  std::shared_ptr<FakeDevice> device;

 private:
  // One for the backend and for the library.
  std::shared_ptr<FakeDevice> use_device() {
    if (!device) device = std::make_shared<FakeDevice>(device_log, memory);
    return device;
  }
  std::unique_ptr<TensorRtBackend> backend_;
};

}  // namespace trtmc::tensorrt::testing
