// infer() of every operator: what it accepts, and one case per rule that it refuses.

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <openvino/core/attribute_visitor.hpp>

#include "cc/backends/openvino/ops/attention_op.h"
#include "cc/backends/openvino/ops/elementwise_ops.h"
#include "cc/backends/openvino/ops/linear_op.h"

namespace trtmc::ovops {
namespace {

// Sets attributes by name, as the reader of a model does.
class Setter final : public ov::AttributeVisitor {
 public:
  explicit Setter(std::map<std::string, std::string> values) : values_(std::move(values)) {}
  void on_adapter(const std::string& name, ov::ValueAccessor<void>& adapter) override {
    const auto it = values_.find(name);
    if (it == values_.end()) return;
    if (auto* text = ov::as_type<ov::AttributeAdapter<std::string>>(&adapter))
      text->set(it->second);
    if (auto* flag = ov::as_type<ov::AttributeAdapter<bool>>(&adapter))
      flag->set(it->second == "true");
  }
  void on_adapter(const std::string& name, ov::ValueAccessor<std::string>& a) override {
    if (const auto it = values_.find(name); it != values_.end()) a.set(it->second);
  }
  void on_adapter(const std::string& name, ov::ValueAccessor<bool>& a) override {
    if (const auto it = values_.find(name); it != values_.end()) a.set(it->second == "true");
  }
  void on_adapter(const std::string& name, ov::ValueAccessor<std::int64_t>& a) override {
    if (const auto it = values_.find(name); it != values_.end()) a.set(std::stoll(it->second));
  }
  void on_adapter(const std::string& name, ov::ValueAccessor<double>& a) override {
    if (const auto it = values_.find(name); it != values_.end()) a.set(std::stod(it->second));
  }

 private:
  std::map<std::string, std::string> values_;
};

using Attributes = std::map<std::string, std::string>;

template <class Op>
Result<Shape> infer(Attributes attributes, const std::vector<InputSpec>& inputs) {
  Op op;
  Setter setter(std::move(attributes));
  op.visit_attributes(setter);
  return op.infer(inputs);
}

template <class Op>
void expect_refused(const Attributes& attributes, const std::vector<InputSpec>& inputs,
                    const char* hint) {
  const Result<Shape> shape = infer<Op>(attributes, inputs);
  ASSERT_FALSE(shape.is_ok()) << hint;
  EXPECT_EQ(shape.status().code(), "backend.bad_model");
  EXPECT_NE(shape.status().message().find(hint), std::string_view::npos)
      << shape.status().message();
}

InputSpec f32(Shape shape) { return {DType::kFloat32, shape}; }
InputSpec i32(Shape shape) { return {DType::kInt32, shape}; }
InputSpec i64(Shape shape) { return {DType::kInt64, shape}; }
InputSpec u8(std::int64_t size) { return {DType::kUInt8, {size}}; }

Attributes with(Attributes base, const char* name, const char* value) {
  base[name] = value;
  return base;
}

const Attributes kLinear = {{"n", "6"},       {"k", "4"},           {"weight_type", "f16"},
                            {"bias", "true"}, {"residual", "true"}, {"compute", "f32"}};

TEST(LinearOpTest, InfersKnownAndUnknownSizes) {
  EXPECT_EQ(*infer<Linear>(kLinear, {f32({2, 3, 4}), u8(48), f32({6}), f32({2, 3, 6})}),
            (Shape{2, 3, 6}));
  EXPECT_EQ(*infer<Linear>(kLinear,
                           {f32({kDynamic, kDynamic, 4}), u8(48), f32({6}), f32({kDynamic, 1, 6})}),
            (Shape{kDynamic, kDynamic, 6}));
  EXPECT_EQ(
      *infer<Linear>(with(with(kLinear, "bias", "false"), "residual", "false"), {f32({4}), u8(48)}),
      (Shape{6}));
}

TEST(LinearOpTest, Refuses) {
  const std::vector<InputSpec> good = {f32({2, 4}), u8(48), f32({6}), f32({2, 6})};
  auto changed = [&](size_t i, InputSpec spec) {
    auto copy = good;
    copy[i] = spec;
    return copy;
  };
  ASSERT_TRUE(infer<Linear>(kLinear, good).is_ok());
  expect_refused<Linear>(with(kLinear, "n", "0"), good, "attribute n is 0");
  expect_refused<Linear>(with(kLinear, "k", "-4"), good, "attribute k is -4");
  expect_refused<Linear>(with(kLinear, "n", "4294967296"), good, "attribute n");
  expect_refused<Linear>(with(with(kLinear, "n", "2147483647"), "k", "2147483647"),
                         changed(0, f32({2, 2147483647})), "larger than any");
  expect_refused<Linear>(with(kLinear, "weight_type", "f64"), good, "f64");
  expect_refused<Linear>(with(kLinear, "compute", "fast"), good, "fast");
  expect_refused<Linear>(with(kLinear, "bias", "false"), good, "4 inputs");
  expect_refused<Linear>(kLinear, changed(0, f32({2, 5})), "x has size 5");
  expect_refused<Linear>(kLinear, changed(0, i32({2, 4})), "x is int32");
  expect_refused<Linear>(kLinear, changed(0, f32({})), "rank");
  expect_refused<Linear>(kLinear, changed(1, u8(47)), "weight has size 47");
  expect_refused<Linear>(kLinear, changed(1, f32({48})), "weight is float32");
  expect_refused<Linear>(kLinear, changed(2, f32({5})), "bias has size 5");
  expect_refused<Linear>(kLinear, changed(3, f32({2, 7})), "residual has size 7");
  expect_refused<Linear>(kLinear, changed(3, f32({6})), "residual has shape [6]");
}

TEST(EmbeddingGatherOpTest, InfersAndRefuses) {
  const Attributes a = {{"rows", "5"}, {"n", "2"}, {"weight_type", "bf16"}};
  EXPECT_EQ(*infer<EmbeddingGather>(a, {i64({1, kDynamic}), u8(20)}), (Shape{1, kDynamic, 2}));
  expect_refused<EmbeddingGather>(a, {f32({1, 1}), u8(20)}, "ids is float32");
  expect_refused<EmbeddingGather>(a, {i32({1, 1}), u8(21)}, "weight has size 21");
  expect_refused<EmbeddingGather>(a, {i32({1, 1, 1, 1, 1, 1, 1, 1}), u8(20)}, "rank");
  expect_refused<EmbeddingGather>(with(a, "rows", "0"), {i32({1}), u8(20)}, "rows is 0");
}

TEST(RmsNormOpTest, InfersAndRefuses) {
  const Attributes a = {{"size", "4"}, {"epsilon", "1e-5"}};
  EXPECT_EQ(*infer<RmsNorm>(a, {f32({2, kDynamic, 8}), f32({4})}), (Shape{2, kDynamic, 8}));
  expect_refused<RmsNorm>(a, {f32({2, 6}), f32({4})}, "width 6");
  expect_refused<RmsNorm>(a, {f32({2, 8}), f32({8})}, "weight has size 8");
  expect_refused<RmsNorm>(with(a, "epsilon", "-1"), {f32({4}), f32({4})}, "epsilon");
  expect_refused<RmsNorm>(with(a, "epsilon", "nan"), {f32({4}), f32({4})}, "epsilon");
  expect_refused<RmsNorm>(with(a, "size", "0"), {f32({4}), f32({4})}, "size is 0");
}

TEST(PairOpsTest, InferAndRefuse) {
  const Attributes silu = {{"activation", "silu"}};
  EXPECT_EQ(*infer<GatedActivation>(silu, {f32({kDynamic, 3}), f32({2, 3})}), (Shape{2, 3}));
  EXPECT_EQ(*infer<Add>({}, {f32({2, 3}), f32({2, 3})}), (Shape{2, 3}));
  expect_refused<GatedActivation>({{"activation", "swish"}}, {f32({2}), f32({2})}, "swish");
  expect_refused<GatedActivation>(silu, {f32({2}), f32({3})}, "up has size 3");
  expect_refused<Add>({}, {f32({2, 3}), f32({3})}, "rank");
  expect_refused<Add>({}, {f32({2}), i32({2})}, "b is int32");
}

TEST(GatherRowsOpTest, InfersAndRefuses) {
  EXPECT_EQ(*infer<GatherRows>({}, {f32({1, 5, 8}), i64({kDynamic})}), (Shape{kDynamic, 8}));
  expect_refused<GatherRows>({}, {f32({8}), i64({1})}, "rank");
  expect_refused<GatherRows>({}, {f32({5, 8}), f32({1})}, "rows is float32");
}

const Attributes kAttention = {{"q_heads", "4"}, {"kv_heads", "2"},  {"head_dim", "6"},
                               {"scale", "0.5"}, {"rotary", "half"}, {"rotary_dim", "4"},
                               {"window", "0"}};

std::vector<InputSpec> attention_inputs() {
  return {f32({2, 3, 24}), f32({2, 3, 12}), f32({2, 3, 12}), f32({2, 2, 9, 6}), f32({2, 2, 9, 6}),
          i32({2}),        i32({2}),        i64({2, 3}),     f32({9, 2}),       f32({9, 2})};
}

TEST(AttentionOpTest, InfersWithAndWithoutRotary) {
  EXPECT_EQ(*infer<Attention>(kAttention, attention_inputs()), (Shape{2, 3, 24}));
  auto seven = attention_inputs();
  seven.resize(7);
  EXPECT_EQ(*infer<Attention>(with(with(kAttention, "rotary", "none"), "rotary_dim", "0"), seven),
            (Shape{2, 3, 24}));
}

TEST(AttentionOpTest, RefusesAttributes) {
  const auto in = attention_inputs();
  expect_refused<Attention>(with(kAttention, "q_heads", "3"), in, "multiple of kv_heads");
  expect_refused<Attention>(with(kAttention, "kv_heads", "0"), in, "kv_heads is 0");
  expect_refused<Attention>(with(kAttention, "head_dim", "99999"), in, "head_dim");
  expect_refused<Attention>(with(kAttention, "scale", "inf"), in, "scale");
  expect_refused<Attention>(with(kAttention, "rotary", "spiral"), in, "spiral");
  expect_refused<Attention>(with(kAttention, "rotary", "none"), in, "rotary_dim must be 0");
  expect_refused<Attention>(with(kAttention, "rotary_dim", "3"), in, "rotary_dim is 3");
  expect_refused<Attention>(with(kAttention, "rotary_dim", "8"), in, "rotary_dim is 8");
  expect_refused<Attention>(with(kAttention, "window", "-1"), in, "window is -1");
}

TEST(AttentionOpTest, RefusesInputs) {
  const std::vector<std::pair<size_t, InputSpec>> changes = {
      {0, f32({2, 3, 23})},   {1, f32({2, 4, 12})},   {2, f32({1, 3, 12})},
      {2, f32({3, 12})},      {3, f32({2, 3, 9, 6})}, {3, f32({1, 2, 9, 6})},
      {4, f32({2, 2, 8, 6})}, {4, f32({2, 2, 9, 5})}, {5, i32({3})},
      {6, f32({2})},          {7, i64({2, 4})},       {8, f32({9, 3})},
      {9, f32({8, 2})},       {9, i32({9, 2})}};
  for (const auto& [index, spec] : changes) {
    auto in = attention_inputs();
    in[index] = spec;
    EXPECT_EQ(infer<Attention>(kAttention, in).status().code(), "backend.bad_model")
        << index << to_string(spec.shape);
  }
  auto in = attention_inputs();
  in.pop_back();
  expect_refused<Attention>(kAttention, in, "9 inputs");
}

TEST(IndexTest, ReadsBothTypesAndNamesTheBadOne) {
  std::vector<std::int64_t> wide = {0, 3, 2};
  std::vector<std::int32_t> narrow = {0, 3, -1};
  EXPECT_EQ(*read_indices(Tensor::of(wide.data(), {3}), 0, 4, "ids"), (std::vector<int>{0, 3, 2}));
  wide[2] = std::int64_t{1} << 40;
  EXPECT_EQ(read_indices(Tensor::of(wide.data(), {3}), 0, 4, "ids").status().code(),
            "backend.bad_value");
  const auto status = read_indices(Tensor::of(narrow.data(), {3}), 0, 4, "ids").status();
  EXPECT_NE(status.message().find("ids[2] is -1"), std::string_view::npos);
}

}  // namespace
}  // namespace trtmc::ovops
