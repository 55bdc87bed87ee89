// On a real GPU: memory, streams, copies, graphs, the allocator, and the whole decode loop with
// kernels where TensorRT would be. Needs no TensorRT; any GPU will do.
//
// TRTMC_STEPS sets the number of decode steps (default 10,000; less under compute-sanitizer).
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>

#include "cc/backends/tensorrt/backend.h"
#include "cc/backends/tensorrt/cuda_device.h"
#include "cc/backends/tensorrt/testing/kernel_library.h"
#include "cc/decoder/decoder.h"
#include "cc/gpu/machine.h"
#include "cc/sampling/sampler.h"
#include "cc/testing/table_backend.h"

namespace trtmc::tensorrt {
namespace {

using trtmc::testing::TableLimits;
using trtmc::testing::TableModel;

constexpr std::int64_t kVocab = 1009;

int steps() {
  const char* text = std::getenv("TRTMC_STEPS");
  return text == nullptr ? 10000 : std::atoi(text);
}

std::size_t resident_bytes() {
  std::size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * 4096;
}

DevicePtr open() {
  auto device = open_cuda_device(0);
  EXPECT_TRUE(device.is_ok()) << device.status().message();
  return device.is_ok() ? *device : nullptr;
}

TEST(DeviceTest, TheDriverNamesThisGpuAndRefusesOtherTargets) {
  const GpuMachine machine = find_gpus();
  ASSERT_FALSE(machine.gpus.empty());
  const Gpu& gpu = machine.gpus[0];
  std::printf("GPU 0: %s, %s, driver %s\n", gpu.name.c_str(), gpu.capability().c_str(),
              machine.driver_version.c_str());
  EXPECT_EQ(open()->name(), gpu.name);
  const TargetInfo other = {"sm_00", "tensorrt_rtx", "1.7.1", "13.0", "0.0", "linux", "x86_64"};
  const Status status = check_gpu_target(other, machine);
  EXPECT_EQ(status.code(), "load.wrong_target");
  EXPECT_NE(status.message().find("capability 0.0; GPU 0 (" + gpu.name + ") has " +
                                  gpu.capability()),
            std::string_view::npos)
      << status.message();
}

TEST(DeviceTest, CopiesThroughPinnedMemory) {
  const DevicePtr device = open();
  const auto stream = Stream::create(device);
  constexpr std::size_t kBytes = 3 << 20;
  auto there = *DeviceBuffer::create(device, kBytes, stream->handle());
  auto host = *PinnedBuffer::create(device, kBytes, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(there.data()) % 256, 0u);
  for (std::size_t i = 0; i < kBytes; ++i) host.data()[i] = static_cast<std::byte>(i * 7);
  ASSERT_TRUE(
      device->copy_to_device(there.data(), host.data(), kBytes, stream->handle()).is_ok());
  ASSERT_TRUE(device->fill_zero(there.data() + 100, 50, stream->handle()).is_ok());
  std::vector<std::byte> back(kBytes);
  ASSERT_TRUE(device->copy_to_host(back.data(), there.data(), kBytes, stream->handle()).is_ok());
  ASSERT_TRUE(stream->synchronize().is_ok());
  for (std::size_t i = 0; i < kBytes; ++i) {
    const auto want = i >= 100 && i < 150 ? std::byte{0} : static_cast<std::byte>(i * 7);
    ASSERT_EQ(back[i], want) << i;
  }
}

TEST(DeviceTest, AGraphRunsAgainWithNewValues) {
  const DevicePtr device = open();
  const auto stream = Stream::create(device);
  auto there = *DeviceBuffer::create(device, 256, stream->handle());
  auto in = *PinnedBuffer::create(device, 256, nullptr);
  auto out = *PinnedBuffer::create(device, 256, nullptr);
  ASSERT_TRUE(device->begin_capture(stream->handle()).is_ok());
  ASSERT_TRUE(device->copy_to_device(there.data(), in.data(), 256, stream->handle()).is_ok());
  ASSERT_TRUE(device->copy_to_host(out.data(), there.data(), 256, stream->handle()).is_ok());
  const auto handle = device->end_capture(stream->handle());
  ASSERT_TRUE(handle.is_ok()) << handle.status().message();
  const Graph graph(device, *handle);
  for (int value = 1; value < 5; ++value) {
    std::memset(in.data(), value, 256);
    ASSERT_TRUE(graph.launch(stream->handle()).is_ok());
    ASSERT_TRUE(stream->synchronize().is_ok());
    EXPECT_EQ(out.data()[17], static_cast<std::byte>(value));
  }
}

TEST(DeviceTest, AFailedCaptureLeavesTheStreamUsable) {
  const DevicePtr device = open();
  const auto stream = Stream::create(device);
  ASSERT_TRUE(device->begin_capture(stream->handle()).is_ok());
  EXPECT_FALSE(stream->synchronize().is_ok()) << "not allowed while recording";
  EXPECT_FALSE(device->end_capture(stream->handle()).is_ok());
  auto there = DeviceBuffer::create(device, 256, stream->handle());
  ASSERT_TRUE(there.is_ok()) << there.status().message();
  EXPECT_TRUE(device->fill_zero(there->data(), 256, stream->handle()).is_ok());
  EXPECT_TRUE(stream->synchronize().is_ok());
}

TEST(DeviceTest, AllocatorGivesZeroedMemoryAndTakesItBack) {
  const DevicePtr device = open();
  const auto pool = PoolAllocator::create(device);
  ASSERT_TRUE(pool.is_ok()) << pool.status().message();
  const auto before = device->memory()->free;
  for (int round = 0; round < 4; ++round) {
    auto tensor = (*pool)->allocate(DType::kFloat16, {2, 8, 4096, 128});
    ASSERT_TRUE(tensor.is_ok()) << tensor.status().message();
    EXPECT_EQ(tensor->view().memory, MemoryKind::kDevice);
    std::vector<std::uint16_t> host(static_cast<std::size_t>(tensor->view().shape.elements()), 1);
    const auto stream = Stream::create(device);
    ASSERT_TRUE(device
                    ->copy_to_host(host.data(), tensor->view().data, tensor->view().bytes(),
                                   stream->handle())
                    .is_ok());
    ASSERT_TRUE(stream->synchronize().is_ok());
    EXPECT_EQ(std::accumulate(host.begin(), host.end(), std::uint64_t{0}), 0u);
    // Dirt for the next round.
    const auto dirt = std::vector<std::uint16_t>(host.size(), 0xBEEF);
    ASSERT_TRUE(device
                    ->copy_to_device(tensor->view().data, dirt.data(), tensor->view().bytes(),
                                     stream->handle())
                    .is_ok());
    ASSERT_TRUE(stream->synchronize().is_ok());
  }
  EXPECT_GE(device->memory()->free + (64 << 20), before) << "kept what it should have given back";
}

TEST(DeviceTest, TooLargeATensorSaysHowMuchIsFree) {
  const DevicePtr device = open();
  const auto pool = PoolAllocator::create(device);
  const auto tensor = (*pool)->allocate(DType::kInt8, {std::int64_t{1} << 40});
  ASSERT_FALSE(tensor.is_ok());
  EXPECT_EQ(tensor.status().code(), "backend.out_of_memory");
  std::printf("%s\n", std::string(tensor.status().message()).c_str());
  EXPECT_NE(tensor.status().message().find("needs 1099.5 GB of device memory"),
            std::string_view::npos);
  EXPECT_TRUE((*pool)->allocate(DType::kInt8, {1 << 20}).is_ok()) << "and goes on";
}

// A backend on this GPU with kernels in TensorRT's place.
struct Rig {
  explicit Rig(const TableLimits& limits) {
    contract = trtmc::testing::table_contract(kVocab, limits);
    const Gpu gpu = find_gpus().gpus.at(0);
    target = {"here", "tensorrt", "11.4.0.1", "13.0", gpu.capability(), "linux", "x86_64"};
    backend = std::make_unique<TensorRtBackend>(Providers{
        [] { return find_gpus(); }, [](int ordinal) { return open_cuda_device(ordinal); },
        [this](const TargetInfo&) -> Result<std::shared_ptr<Library>> {
          return testing::make_kernel_library(contract);
        },
        "11"});
  }
  Result<std::unique_ptr<Engine>> load() {
    EngineBlob blob;
    blob.name = "engines/llm";
    blob.target = target;
    blob.weights["bias"] = Tensor::of(&bias, {1});
    return backend->load(blob, contract, {});
  }
  float bias = 0.25f;
  Contract contract;
  TargetInfo target;
  std::unique_ptr<Backend> backend;
};

std::vector<std::int32_t> best(const LogitsView& logits) {
  std::vector<std::int32_t> ids;
  for (std::int64_t b = 0; b < logits.rows; ++b) {
    ids.push_back(argmax({logits.data + b * kVocab, static_cast<std::size_t>(kVocab)}));
  }
  return ids;
}

TEST(DeviceTest, TheDecodeLoopGivesTheModelsAnswers) {
  const TableLimits limits{3, 300, 32};
  for (const std::int64_t batch : {1, 3}) {
    Rig rig(limits);
    auto engine = rig.load();
    ASSERT_TRUE(engine.is_ok()) << engine.status().message();
    auto decoder = Decoder::create(rig.backend->allocator(), **engine, {batch, 0});
    ASSERT_TRUE(decoder.is_ok()) << decoder.status().message();

    trtmc::testing::TableBackend host(std::make_shared<trtmc::testing::RunLog>());
    const auto host_engine = host.make_engine(TableModel::hashing(kVocab), rig.contract);
    auto reference = Decoder::create(host.allocator(), *host_engine, {batch, 0});

    std::vector<std::int32_t> next(static_cast<std::size_t>(100 * batch));
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = static_cast<int>(i * i % 997);
    for (int i = 0; i < 150; ++i) {
      const auto got = decoder->append(next, {});
      const auto want = reference->append(next, {});
      ASSERT_TRUE(got.is_ok()) << got.status().message();
      ASSERT_EQ(got->rows, want->rows);
      for (std::int64_t j = 0; j < want->rows * kVocab; ++j) {
        ASSERT_EQ(got->data[j], want->data[j] + rig.bias) << "step " << i << ", logit " << j;
      }
      next = best(*got);
      if (i == 70) {  // other sessions use the device in between
        auto other = Decoder::create(rig.backend->allocator(), **engine, {batch, 0});
        ASSERT_TRUE(other->append(next, {}).is_ok());
      }
    }
  }
}

TEST(DeviceTest, TenThousandStepsTakeNoMoreMemory) {
  Rig rig({1, 512, 64});
  auto engine = rig.load();
  ASSERT_TRUE(engine.is_ok()) << engine.status().message();
  auto decoder = Decoder::create(rig.backend->allocator(), **engine, {1, 0});
  const auto device = open();
  std::vector<std::int32_t> next = {1, 2, 3};
  std::uint64_t free = 0, resident = 0;
  for (int i = 0; i < steps(); ++i) {
    if (decoder->ledger().length(0) == 512) {
      decoder->reset();
      next = {i % 7, 2, 3};
    }
    const auto logits = decoder->append(next, {});
    ASSERT_TRUE(logits.is_ok()) << logits.status().message();
    next = best(*logits);
    if (i == steps() / 10) {
      free = device->memory()->free;
      resident = resident_bytes();
    }
  }
  const auto now = device->memory()->free;
  std::printf("%d steps: device memory free %llu -> %llu, resident %llu -> %llu\n", steps(),
              static_cast<unsigned long long>(free), static_cast<unsigned long long>(now),
              static_cast<unsigned long long>(resident),
              static_cast<unsigned long long>(resident_bytes()));
  EXPECT_EQ(now, free);
  EXPECT_LE(resident_bytes(), resident + (4 << 20));
}

}  // namespace
}  // namespace trtmc::tensorrt
