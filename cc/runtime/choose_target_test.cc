// The order of preference, and what is said when nothing fits.
#include "cc/runtime/choose_target.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "cc/testing/table_backend.h"

namespace trtmc {
namespace {

TargetInfo cpu() { return {"cpu_x86_64", "openvino", "1", {}, {}, "linux", "x86_64"}; }
TargetInfo portable() {
  return {"rtx_portable", "tensorrt_rtx", "1", "13.0", {}, "linux", "x86_64"};
}
TargetInfo sm(const std::string& name, const std::string& capability) {
  return {name, "tensorrt_rtx", "1", "13.0", capability, "linux", "x86_64"};
}

// A machine that runs the targets named; `asked` says which were tried.
struct Machine {
  std::map<std::string, Status> answers;  // absent: mismatch
  std::string asked;

  OpenBackend open() {
    return [this](const TargetInfo& target) -> Result<std::shared_ptr<Backend>> {
      asked += target.name + " ";
      const auto it = answers.find(target.name);
      if (it == answers.end()) return target_mismatch("x.mismatch", "not " + target.name);
      if (!it->second.is_ok()) return it->second;
      return std::shared_ptr<Backend>(
          std::make_shared<testing::TableBackend>(std::make_shared<testing::RunLog>()));
    };
  }
  std::string choice(const std::vector<TargetInfo>& targets, std::string_view wanted = "") {
    const auto chosen = choose_target(targets, wanted, open());
    return chosen.is_ok() ? chosen->target.name : std::string(chosen.status().code());
  }
};

const std::vector<TargetInfo> kFat = {cpu(), portable(), sm("sm_120", "12.0"), sm("sm_89", "8.9")};

TEST(ChooseTarget, ThisVeryGpuThenARangeOfGpusThenTheCpu) {
  const Status ok;
  Machine all{{{"cpu_x86_64", ok}, {"rtx_portable", ok}, {"sm_89", ok}}, ""};
  EXPECT_EQ(all.choice(kFat), "sm_89");
  EXPECT_EQ(all.asked, "sm_120 sm_89 ");
  Machine ampere{{{"cpu_x86_64", ok}, {"rtx_portable", ok}}, ""};
  EXPECT_EQ(ampere.choice(kFat), "rtx_portable");
  Machine without_gpu{{{"cpu_x86_64", ok}}, ""};
  EXPECT_EQ(without_gpu.choice(kFat), "cpu_x86_64");
}

TEST(ChooseTarget, AMissingBackendIsPassedOver) {
  Machine machine{{{"cpu_x86_64", Status()}, {"sm_89", missing_component("x.dso", "gone")}}, ""};
  EXPECT_EQ(machine.choice(kFat), "cpu_x86_64");
}

TEST(ChooseTarget, ABrokenDeviceIsNotHidden) {
  Machine machine{{{"cpu_x86_64", Status()}, {"sm_89", resource_error("x.memory", "full")}}, ""};
  EXPECT_EQ(machine.choice(kFat), "x.memory");
}

TEST(ChooseTarget, NothingFits) {
  Machine machine;
  const Status status = choose_target(kFat, "", machine.open()).status();
  EXPECT_EQ(status.code(), "load.no_target");
  EXPECT_EQ(status.exit_code(), 5);
  for (const char* word : {"sm_120, sm_89, rtx_portable, cpu_x86_64", "\n  sm_89: not sm_89"}) {
    EXPECT_NE(status.message().find(word), std::string_view::npos) << status.message();
  }
  EXPECT_EQ(machine.choice({sm("sm_89", "8.9")}), "x.mismatch");  // the only one speaks for itself
}

TEST(ChooseTarget, ByName) {
  Machine machine{{{"cpu_x86_64", Status()}, {"sm_89", Status()}}, ""};
  EXPECT_EQ(machine.choice(kFat, "cpu_x86_64"), "cpu_x86_64");
  EXPECT_EQ(machine.choice(kFat, "sm_120"), "x.mismatch");
  EXPECT_EQ(machine.choice(kFat, "sm_75"), "load.unknown_target");
}

}  // namespace
}  // namespace trtmc
