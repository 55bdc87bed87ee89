// exp, norms, activations, decoding and rotation of every instruction set, against double.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "cc/backends/openvino/kernels/table.h"
#include "cc/backends/openvino/kernels/testing.h"

namespace trtmc::cpu {
namespace {

class MathTest : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override { force_isa(GetParam()); }
  void TearDown() override { force_isa(Isa::kAmx); }
};

double ulp_of(double value) {
  const auto f = static_cast<float>(value);
  return static_cast<double>(std::nextafter(f, std::numeric_limits<float>::infinity())) - f;
}

TEST_P(MathTest, ExpIsWithinTwoUlp) {
  std::vector<float> x;
  for (float v = -87.3f; v < 88.7f; v += 0.00137f) x.push_back(v);
  for (float v = -1e-3f; v < 1e-3f; v += 1.7e-7f) x.push_back(v);
  std::vector<float> y(x.size());
  kernels().exp(x.data(), y.data(), static_cast<int>(x.size()));
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double want = std::exp(static_cast<double>(x[i]));
    worst = std::max(worst, std::abs(y[i] - want) / ulp_of(want));
  }
  EXPECT_LE(worst, 2.0);
}

TEST_P(MathTest, ExpAtTheEdges) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {0.0f, -0.0f, -kInf, kInf, -88.0f, -1e30f, 1e30f, 89.5f, NAN};
  std::vector<float> y(x.size());
  kernels().exp(x.data(), y.data(), static_cast<int>(x.size()));
  EXPECT_EQ(y[0], 1.0f);
  EXPECT_EQ(y[1], 1.0f);
  EXPECT_EQ(y[2], 0.0f);
  EXPECT_EQ(y[3], kInf);
  EXPECT_EQ(y[4], 0.0f);
  EXPECT_EQ(y[5], 0.0f);
  EXPECT_EQ(y[6], kInf);
  EXPECT_EQ(y[7], kInf);
  EXPECT_TRUE(std::isnan(y[8]));
}

TEST_P(MathTest, RmsNormOfEverySize) {
  for (const int size : {1, 3, 15, 16, 17, 64, 65, 80, 576, 1000}) {
    const int groups = 3;
    const auto x = testing::random_floats(size_t(size) * groups, 1);
    const auto w = testing::random_floats(size_t(size), 2);
    std::vector<float> y(x.size() + 1, 55.0f);
    kernels().rms_norm(x.data(), w.data(), 1e-5f, size, groups, y.data());
    for (int g = 0; g < groups; ++g) {
      double squares = 0;
      for (int i = 0; i < size; ++i)
        squares += double(x[size_t(g) * size + i]) * x[size_t(g) * size + i];
      const double scale = 1 / std::sqrt(squares / size + 1e-5);
      for (int i = 0; i < size; ++i) {
        const double want = x[size_t(g) * size + i] * scale * w[i];
        ASSERT_NEAR(y[size_t(g) * size + i], want, 1e-6 * (1 + std::abs(want))) << size;
      }
    }
    ASSERT_EQ(y.back(), 55.0f) << "overrun at size " << size;
  }
}

double reference(Activation kind, double x) {
  switch (kind) {
    case Activation::kSilu: return x / (1 + std::exp(-x));
    case Activation::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::kGelu: return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::kRelu: return std::max(0.0, x);
    case Activation::kQuickGelu: return x / (1 + std::exp(-1.702 * x));
    case Activation::kMish: return x * std::tanh(std::log1p(std::exp(x)));
  }
  return 0;
}

TEST_P(MathTest, GatedActivations) {
  for (const auto kind :
       {Activation::kSilu, Activation::kGeluTanh, Activation::kGelu, Activation::kRelu,
        Activation::kQuickGelu, Activation::kMish}) {
    for (const int count : {1, 7, 16, 33, 1000}) {
      auto gate = testing::random_floats(size_t(count), 1);
      for (float& g : gate) g *= 6;
      const auto up = testing::random_floats(size_t(count), 2);
      std::vector<float> y(size_t(count) + 1, 55.0f);
      kernels().gated(kind, gate.data(), up.data(), y.data(), count);
      for (int i = 0; i < count; ++i) {
        const double want = reference(kind, gate[i]) * up[i];
        ASSERT_NEAR(y[i], want, 2e-6 * (1 + std::abs(gate[i] * up[i])))
            << int(kind) << " at " << gate[i];
      }
      ASSERT_EQ(y.back(), 55.0f);
    }
  }
}

TEST_P(MathTest, GatedActivationOfExtremes) {
  const std::vector<float> gate = {-1e30f, -200.0f, 200.0f, 0.0f, 1e30f, NAN};
  const std::vector<float> up(gate.size(), 1.0f);
  std::vector<float> y(gate.size());
  for (const auto kind : {Activation::kSilu, Activation::kQuickGelu, Activation::kMish}) {
    kernels().gated(kind, gate.data(), up.data(), y.data(), static_cast<int>(gate.size()));
    EXPECT_EQ(y[0], 0.0f) << int(kind);
    EXPECT_NEAR(y[1], 0.0f, 1e-30f) << int(kind);
    EXPECT_EQ(y[2], 200.0f) << int(kind);
    EXPECT_EQ(y[3], 0.0f) << int(kind);
    EXPECT_EQ(y[4], 1e30f) << int(kind);
    EXPECT_TRUE(std::isnan(y[5])) << int(kind);
  }
}

TEST_P(MathTest, AddOfEverySize) {
  for (const int count : {1, 4, 15, 16, 17, 100}) {
    const auto a = testing::random_floats(size_t(count), 1),
               b = testing::random_floats(size_t(count), 2);
    std::vector<float> y(size_t(count) + 1, 55.0f);
    kernels().add(a.data(), b.data(), y.data(), count);
    for (int i = 0; i < count; ++i) ASSERT_EQ(y[i], a[i] + b[i]);
    ASSERT_EQ(y.back(), 55.0f);
  }
}

TEST_P(MathTest, DecodesEveryFiniteHalfAndBfloat) {
  std::vector<uint16_t> bits;
  for (uint32_t h = 0; h < 0x10000; ++h) bits.push_back(uint16_t(h));
  std::vector<float> half(bits.size()), brain(bits.size());
  kernels().decode(WeightType::kF16, bits.data(), half.data(), 0x10000);
  kernels().decode(WeightType::kBF16, bits.data(), brain.data(), 0x10000);
  for (uint32_t h = 0; h < 0x10000; ++h) {
    if ((h & 0x7C00) != 0x7C00) {
      ASSERT_EQ(std::bit_cast<uint32_t>(half[h]),
                std::bit_cast<uint32_t>(testing::half_value(uint16_t(h))));
    } else {
      ASSERT_FALSE(std::isfinite(half[h])) << h;
    }
    if ((h & 0x7F80) != 0x7F80) {
      ASSERT_EQ(std::bit_cast<uint32_t>(brain[h]), h << 16);
    }
  }
}

TEST_P(MathTest, DecodeReadsNoFurtherThanItsCount) {
  for (int count = 1; count < 40; ++count) {
    const std::vector<uint16_t> bits(size_t(count), 0x3C00);  // the sanitizer watches the end
    std::vector<float> y(size_t(count) + 1, 55.0f);
    kernels().decode(WeightType::kF16, bits.data(), y.data(), count);
    for (int i = 0; i < count; ++i) ASSERT_EQ(y[i], 1.0f);
    ASSERT_EQ(y.back(), 55.0f);
  }
}

TEST_P(MathTest, RotatesHalvesAndPairsAndCopiesTheRest) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7}, cos = {0.5f, 0.25f}, sin = {2.0f, 4.0f};
  std::vector<float> y(8, 55.0f);
  kernels().rotate(x.data(), cos.data(), sin.data(), 2, 7, false, 2.0f, y.data());
  EXPECT_EQ(y, (std::vector<float>{2 * (0.5f - 6), 2 * (0.5f - 16), 2 * (1.5f + 2), 2 * (1.0f + 8),
                                   10, 12, 14, 55.0f}));
  kernels().rotate(x.data(), cos.data(), sin.data(), 2, 7, true, 1.0f, y.data());
  EXPECT_EQ(y, (std::vector<float>{0.5f - 4, 1.0f + 2, 0.75f - 16, 1.0f + 12, 5, 6, 7, 55.0f}));
}

TEST(CpuTest, ForcedLevelIsClampedToTheMachine) {
  force_isa(Isa::kPortable);
  EXPECT_EQ(active_isa(), Isa::kPortable);
  EXPECT_EQ(kernels().isa, Isa::kPortable);
  force_isa(Isa::kAmx);
  EXPECT_EQ(active_isa(), detected_isa());
  EXPECT_EQ(kernels().isa, detected_isa());
  EXPECT_GE(usable_cpus(), 1);
}

INSTANTIATE_TEST_SUITE_P(Isas, MathTest, ::testing::ValuesIn(available_isas()),
                         [](const auto& info) { return std::string(isa_name(info.param)); });

}  // namespace
}  // namespace trtmc::cpu
