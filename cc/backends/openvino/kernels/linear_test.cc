// linear() against a double-precision reference: shapes, weight types, instruction sets, threads.
#include "cc/backends/openvino/kernels/linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "cc/backends/openvino/kernels/gemm_bf16.h"
#include "cc/backends/openvino/kernels/testing.h"

namespace trtmc::cpu {
namespace {

struct Case {
  int n, k, rows;
};

void PrintTo(const Case& c, std::ostream* os) {
  *os << "n=" << c.n << " k=" << c.k << " rows=" << c.rows;
}

// Largest error relative to Σ|w·x|, the scale that float32 rounding works on.
double worst_error(const testing::Matrix& w, const std::vector<float>& x, const Case& c,
                   const float* bias, const float* residual, const std::vector<float>& y) {
  double worst = 0;
  for (int r = 0; r < c.rows; ++r) {
    for (int i = 0; i < c.n; ++i) {
      double sum = 0, size = 1e-30;
      for (int j = 0; j < c.k; ++j) {
        const double p = double(w.values[size_t(i) * c.k + j]) * x[size_t(r) * c.k + j];
        sum += p;
        size += std::abs(p);
      }
      if (bias) sum += bias[i];
      if (bias) size += std::abs(bias[i]);
      if (residual) sum += residual[size_t(r) * c.n + i];
      if (residual) size += std::abs(residual[size_t(r) * c.n + i]);
      const double error = std::abs(y[size_t(r) * c.n + i] - sum) / size;
      if (!(error <= worst)) worst = error;  // catches NaN too
    }
  }
  return worst;
}

class LinearTest : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override { force_isa(GetParam()); }
  void TearDown() override { force_isa(Isa::kAmx); }
};

const Case kCases[] = {{1, 1, 1},    {3, 5, 2},     {8, 16, 1},   {17, 33, 3},   {33, 31, 5},
                       {40, 48, 7},  {63, 65, 11},  {64, 64, 16}, {65, 100, 17}, {31, 576, 16},
                       {96, 96, 31}, {100, 70, 33}, {7, 257, 64}, {130, 36, 65}, {48, 1536, 128},
                       {9, 12, 129}, {70, 40, 257}, {5, 3, 530}};

TEST_P(LinearTest, AgreesWithDoubleOnOddShapes) {
  for (const int threads : {1, 3}) {
    Pool pool(threads);
    Workspace ws(pool);
    for (const WeightType type : {WeightType::kF16, WeightType::kBF16, WeightType::kF32}) {
      for (const Case& c : kCases) {
        const auto w = testing::random_matrix(type, c.n, c.k, 1);
        const auto x = testing::random_floats(size_t(c.rows) * c.k, 2);
        std::vector<float> y(size_t(c.rows) * c.n + 8, 777.0f);
        LinearJob job{w.bytes.data(), type, c.n, nullptr, nullptr, y.data()};
        linear(ws, {&job, 1}, x.data(), c.rows, c.k, Compute::kF32);
        EXPECT_LT(worst_error(w, x, c, nullptr, nullptr, y), 4e-7)
            << ::testing::PrintToString(c) << " type " << int(type) << " threads " << threads;
        for (size_t i = y.size() - 8; i < y.size(); ++i) ASSERT_EQ(y[i], 777.0f) << "overrun";
      }
    }
  }
}

TEST_P(LinearTest, FastModeKeepsBfloat16Accuracy) {
  Pool pool(2);
  Workspace ws(pool);
  for (const WeightType type : {WeightType::kF16, WeightType::kBF16, WeightType::kF32}) {
    for (const Case& c : kCases) {
      const auto w = testing::random_matrix(type, c.n, c.k, 3);
      const auto x = testing::random_floats(size_t(c.rows) * c.k, 4);
      std::vector<float> y(size_t(c.rows) * c.n);
      LinearJob job{w.bytes.data(), type, c.n, nullptr, nullptr, y.data()};
      linear(ws, {&job, 1}, x.data(), c.rows, c.k, Compute::kBF16);
      EXPECT_LT(worst_error(w, x, c, nullptr, nullptr, y), 9e-3) << ::testing::PrintToString(c);
    }
  }
}

TEST_P(LinearTest, SeveralJobsWithBiasAndResidualInPlace) {
  Pool pool(2);
  Workspace ws(pool);
  for (const int rows : {1, 4, 16, 40}) {
    const Case a{20, 50, rows}, b{33, 50, rows};
    const auto wa = testing::random_matrix(WeightType::kF16, a.n, a.k, 5);
    const auto wb = testing::random_matrix(WeightType::kBF16, b.n, b.k, 6);
    const auto x = testing::random_floats(size_t(rows) * 50, 7);
    const auto bias = testing::random_floats(20, 8);
    const auto residual = testing::random_floats(size_t(rows) * b.n, 9);
    std::vector<float> ya(size_t(rows) * a.n), yb = residual;
    const LinearJob jobs[] = {
        {wa.bytes.data(), WeightType::kF16, a.n, bias.data(), nullptr, ya.data()},
        {wb.bytes.data(), WeightType::kBF16, b.n, nullptr, yb.data(), yb.data()}};
    linear(ws, jobs, x.data(), rows, 50, Compute::kF32);
    EXPECT_LT(worst_error(wa, x, a, bias.data(), nullptr, ya), 4e-7);
    EXPECT_LT(worst_error(wb, x, b, nullptr, residual.data(), yb), 4e-7);
  }
}

// A batch, a chunked prompt and a single step must agree to the last bit below the GEMM switch.
TEST_P(LinearTest, FewRowsDoNotDependOnTheirNumberOrThreads) {
  const int n = 77, k = 130, rows = 7;
  const auto w = testing::random_matrix(WeightType::kF16, n, k, 10);
  const auto x = testing::random_floats(size_t(rows) * k, 11);
  Pool one(1), three(3);
  Workspace ws1(one), ws3(three);
  std::vector<float> all(size_t(rows) * n), single(size_t(rows) * n);
  LinearJob job{w.bytes.data(), WeightType::kF16, n, nullptr, nullptr, all.data()};
  linear(ws3, {&job, 1}, x.data(), rows, k, Compute::kF32);
  for (int r = 0; r < rows; ++r) {
    job.y = single.data() + size_t(r) * n;
    linear(ws1, {&job, 1}, x.data() + size_t(r) * k, 1, k, Compute::kF32);
  }
  EXPECT_EQ(all, single);
}

TEST_P(LinearTest, GatedPairAgreesWithItsParts) {
  Pool pool(2);
  Workspace ws(pool);
  for (const int rows : {1, 5, 40, 270}) {
    for (const int n : {7, 96, 200, 390}) {
      const int k = 36;
      const auto wg = testing::random_matrix(WeightType::kF16, n, k, 12);
      const auto wu = testing::random_matrix(WeightType::kBF16, n, k, 13);
      const auto x = testing::random_floats(size_t(rows) * k, 14);
      const auto bias = testing::random_floats(size_t(n), 15);
      const size_t count = size_t(rows) * n;
      std::vector<float> g(count), u(count), want(count), y(count + 8, 777.0f);
      LinearJob jobs[] = {{wg.bytes.data(), WeightType::kF16, n, bias.data(), nullptr, g.data()},
                          {wu.bytes.data(), WeightType::kBF16, n, nullptr, nullptr, u.data()}};
      linear(ws, jobs, x.data(), rows, k, Compute::kF32);
      kernels().gated(Activation::kSilu, g.data(), u.data(), want.data(), int(count));
      jobs[0].y = jobs[1].y = nullptr;
      gated_linear(ws, jobs[0], jobs[1], Activation::kSilu, y.data(), x.data(), rows, k,
                   Compute::kF32);
      for (size_t i = 0; i < count; ++i) {
        ASSERT_NEAR(y[i], want[i], 1e-6f + 1e-5f * std::abs(want[i])) << rows << " rows, n " << n;
      }
      for (size_t i = count; i < y.size(); ++i) ASSERT_EQ(y[i], 777.0f) << "overrun";
    }
  }
}

TEST_P(LinearTest, SubnormalAndExtremeHalfWeightsAreExact) {
  // All finite float16 values against x = 1 at one place: the product is the weight itself.
  std::vector<uint16_t> bits;
  for (uint32_t h = 0; h < 0x10000; ++h) {
    if ((h & 0x7C00) != 0x7C00) bits.push_back(uint16_t(h));
  }
  const int n = int(bits.size());
  Pool pool(1);
  Workspace ws(pool);
  for (const int rows : {1, 20}) {
    std::vector<float> x(size_t(rows), 1.0f), y(size_t(rows) * n);
    LinearJob job{bits.data(), WeightType::kF16, n, nullptr, nullptr, y.data()};
    linear(ws, {&job, 1}, x.data(), rows, 1, Compute::kF32);
    for (int i = 0; i < n; ++i) {
      ASSERT_EQ(y[i], testing::half_value(bits[i])) << "bits " << bits[i] << " rows " << rows;
      ASSERT_EQ(y[size_t(rows - 1) * n + i], y[i]);
    }
  }
}

// Called directly: the table has it only where it is faster than float32.
TEST(Bf16GemmTest, KeepsBfloat16Accuracy) {
  if (!has_avx512_bf16()) GTEST_SKIP() << "this machine lacks AVX512_BF16";
  const GemmKernel gemm = bf16_gemm();
  for (const WeightType type : {WeightType::kF16, WeightType::kBF16, WeightType::kF32}) {
    for (const Case& c : kCases) {
      const auto w = testing::random_matrix(type, c.n, c.k, 3);
      const auto x = testing::random_floats(size_t(c.rows) * c.k, 4);
      const auto bias = testing::random_floats(size_t(c.n), 5);
      const auto residual = testing::random_floats(size_t(c.rows) * c.n, 6);
      std::vector<float> y(size_t(c.rows) * c.n + 8, 777.0f);
      std::vector<std::byte> packed(gemm.packed_bytes(c.rows, c.k));
      std::vector<std::byte> scratch(gemm.scratch_bytes(c.rows, c.k));
      for (int u = 0; u < gemm.pack_units(c.rows); ++u) {
        gemm.pack(x.data(), c.rows, c.k, u, packed.data());
      }
      const LinearJob job{w.bytes.data(), type, c.n, bias.data(), residual.data(), y.data()};
      gemm.run(job, {packed.data(), c.rows, c.k}, 0, c.n, scratch.data());
      EXPECT_LT(worst_error(w, x, c, bias.data(), residual.data(), y), 9e-3)
          << ::testing::PrintToString(c) << " type " << int(type);
      for (size_t i = y.size() - 8; i < y.size(); ++i) ASSERT_EQ(y[i], 777.0f) << "overrun";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, LinearTest, ::testing::ValuesIn(available_isas()),
                         [](const auto& info) { return std::string(isa_name(info.param)); });

}  // namespace
}  // namespace trtmc::cpu
