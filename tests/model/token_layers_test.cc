// Layers over tokens: shapes, what does not fit, shared weights, work, and what backward saves.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "model/cost/op_tiles.h"
#include "model/network/layer_kind.h"
#include "model/samples/file.h"
#include "model/unroll/unroll.h"
#include "tests/saved_bytes.h"
#include "tests/transformer_networks.h"

namespace spillway {
namespace {

Network Read(const std::string& text) {
  const Document document = ParseDocument(text, "net.yaml");
  Diagnostics diagnostics(document);
  Network network = ReadNetwork(document.root, diagnostics, 2);
  diagnostics.ThrowIfAny();
  return network;
}

// First lines of the messages.
std::string Complaints(const std::string& text) {
  std::string lines;
  try {
    Read(text);
  } catch (const UserError& error) {
    for (const std::string& message : error.messages()) lines += message.substr(0, message.find('\n')) + "\n";
  }
  return lines;
}

std::string WithLayers(const std::string& input, const std::string& layers) {
  return "name: n\ninput: " + input + "\nlayers:\n" + layers + "  - {name: loss, kind: softmax_loss}\n";
}

const Layer& Named(const Network& network, const std::string& name) {
  const auto found = std::find_if(network.layers.begin(), network.layers.end(),
                                  [&](const Layer& layer) { return layer.name == name; });
  REQUIRE(found != network.layers.end());
  return *found;
}

const Op& OpNamed(const TrainingStep& step, const std::string& name) {
  const auto found = std::find_if(step.ops.begin(), step.ops.end(), [&](const Op& op) { return op.name == name; });
  INFO(name);
  REQUIRE(found != step.ops.end());
  return *found;
}

std::set<std::string> SavedNames(const TrainingStep& step) {
  std::set<std::string> names;
  for (const TensorId t : SavedTensorsOf(step)) names.insert(step.tensors[static_cast<std::size_t>(t)].name);
  return names;
}

}  // namespace

TEST_CASE("a network of tokens from YAML") {
  const Network network =
      Read(WithLayers("{tokens: 16}",
                      "  - {name: wte, kind: embedding, vocabulary: 50, out: 12}\n"
                      "  - {name: wpe, kind: position, positions: 32}\n"
                      "  - {name: qkv, kind: linear, pointwise: true, out: 24, bias: true}\n"
                      "  - {name: mix, kind: attention, heads: 6, kv_heads: 3, causal: true, dropout: 0.1}\n"
                      "  - {name: turned, kind: rope, heads: 3}\n"
                      "  - {name: front, kind: class_token}\n"
                      "  - {name: shares, kind: softmax, over: width}\n"
                      "  - {name: head, kind: linear, pointwise: true, out: 50, tied: wte}\n"));
  CHECK(network.tokens);
  CHECK(network.input == Shape{.n = 2, .c = 1, .w = 16});
  CHECK(Named(network, "wte").shape == Shape{.n = 2, .c = 12, .w = 16});
  CHECK(Named(network, "qkv").shape == Shape{.n = 2, .c = 24, .w = 16});
  CHECK(Named(network, "mix").shape == Shape{.n = 2, .c = 12, .w = 16});
  CHECK(Named(network, "front").shape == Shape{.n = 2, .c = 12, .w = 17});
  CHECK(Named(network, "head").shape == Shape{.n = 2, .c = 50, .w = 17});
  // Embedding, vectors, qkv, token; the head has none of its own.
  CHECK(CountParameters(network) == 50 * 12 + 12 * 32 + 12 * 24 + 24 + 12);
  const TrainingStep step = BuildTrainingStep(network);
  CHECK(step.tensors[0].type == DataType::kInt64);
  CHECK(step.tensors[0].bytes == 2 * 16 * 8);
}

TEST_CASE("an image's positions are tokens") {
  const Network network = TinyVit();
  CHECK(Named(network, "class_token").shape == Shape{.n = 4, .c = 8, .w = 5});
  CHECK(Named(network, "head").shape == Shape{.n = 4, .c = 4});
  CHECK(LayerParameters(network, Named(network, "head"))[0].shape == Shape{.n = 4, .c = 8});
  CHECK(LayerParameters(network, Named(network, "positions"))[0].shape == Shape{.n = 1, .c = 8, .w = 5});
}

TEST_CASE("heads that do not fit are explained, with both layers where two do not fit each other") {
  const auto attention = [](const std::string& keys) {
    return WithLayers("{tokens: 16}",
                      "  - {name: x, kind: embedding, vocabulary: 50, out: 12}\n"
                      "  - {name: a, kind: attention, " +
                          keys + "}\n");
  };
  CHECK(Complaints(attention("heads: 5")) ==
        "net.yaml:5:5: error: layer 'a': 5 heads do not divide 12 channels (input 2x12x1x16)\n");
  CHECK(Complaints(attention("heads: 4, kv_heads: 3")) ==
        "net.yaml:5:5: error: layer 'a': 3 heads of keys and values do not divide 4 heads (input 2x12x1x16)\n");
  CHECK_THAT(Complaints(attention("heads: 4, from: [x, x]")), Catch::Contains("queries, keys and values, or three"));
  CHECK(Complaints(WithLayers("{tokens: 16}",
                              "  - {name: q, kind: embedding, vocabulary: 50, out: 12}\n"
                              "  - {name: k, kind: class_token, from: q}\n"
                              "  - {name: a, kind: attention, heads: 3, from: [q, k, q]}\n")) ==
        "net.yaml:6:5: error: layer 'a': keys and values differ in positions: 2x12x1x17 and 2x12x1x16 (input q "
        "2x12x1x16, k "
        "2x12x1x17, q 2x12x1x16)\n");
  CHECK_THAT(Complaints(WithLayers("{tokens: 16}",
                                   "  - {name: q, kind: embedding, vocabulary: 50, out: 12}\n"
                                   "  - {name: k, kind: class_token, from: q}\n"
                                   "  - {name: a, kind: attention, heads: 3, causal: true, from: [q, k, k]}\n")),
             Catch::Contains("causal attention differ in positions: 2x12x1x16 and 2x12x1x17"));
  CHECK_THAT(Complaints(WithLayers("{tokens: 16}",
                                   "  - {name: x, kind: embedding, vocabulary: 50, out: 12}\n"
                                   "  - {name: r, kind: rope, heads: 5}\n")),
             Catch::Contains("5 heads do not divide 12 channels into pairs"));
}

TEST_CASE("tokens go through an embedding, and images do not") {
  CHECK_THAT(Complaints(WithLayers("{tokens: 16}", "  - {name: a, kind: relu}\n")),
             Catch::Contains("relu takes no tokens; an embedding makes features of them"));
  CHECK_THAT(Complaints(WithLayers("{image: 8}", "  - {name: a, kind: embedding, vocabulary: 5, out: 4}\n")),
             Catch::Contains("embedding reads the network's input, which must be `tokens`"));
  CHECK_THAT(
      Complaints(WithLayers("{tokens: 16, image: 8}", "  - {name: a, kind: embedding, vocabulary: 5, out: 4}\n")),
      Catch::Contains("'image' besides 'tokens'"));
  CHECK_THAT(Complaints(WithLayers("{tokens: 16}", "  - {name: a, kind: embedding, vocabulary: 5, out: 4, row: 1}\n")),
             Catch::Contains("row 1 of 1 rows of tokens"));
  CHECK_THAT(Complaints(WithLayers("{tokens: 16}",
                                   "  - {name: a, kind: embedding, vocabulary: 5, out: 4}\n"
                                   "  - {name: p, kind: position, positions: 8}\n")),
             Catch::Contains("vectors for 8 positions, and the input has 16"));
}

TEST_CASE("a tied weight must be there and fit") {
  const auto tied = [](const std::string& keys) {
    return WithLayers("{tokens: 16}",
                      "  - {name: x, kind: embedding, vocabulary: 50, out: 12}\n"
                      "  - {name: r, kind: layer_norm, affine: false}\n"
                      "  - {name: head, kind: linear, pointwise: true, " +
                          keys + "}\n");
  };
  CHECK_THAT(Complaints(tied("out: 40, tied: x")),
             Catch::Contains("needs a weight of 40x12x1x1, and that of layer 'x' is 50x12x1x1"));
  CHECK_THAT(Complaints(tied("out: 50, tied: r")), Catch::Contains("layer 'r' has no weight of its own to share"));
  CHECK_THAT(Complaints(tied("out: 50, tied: y")), Catch::Contains("no layer is named 'y'"));
  CHECK_THAT(Complaints(tied("out: 50, tied: input")), Catch::Contains("expected the name of a layer"));
  CHECK_THAT(Complaints(tied("out: 50, first: true")), Catch::Contains("give either"));
}

TEST_CASE("the gradient of a shared weight is the sum of both, and it is updated once") {
  for (const char* name : {"plain", "torch"}) {
    INFO(name);
    const TrainingStep step = BuildTrainingStep(TinyGpt(), StepOptionsByName(name));
    const Op& head = OpNamed(step, "head:backward_filter");
    const Op& table = OpNamed(step, "wte:backward_bias");
    const Op& update = OpNamed(step, "wte:weight:update");
    CHECK_FALSE(head.accumulate);
    CHECK(table.accumulate);
    CHECK(table.writes[0] == head.writes[0]);
    CHECK(update.reads[0] == head.writes[0]);
    const auto updates = std::count_if(step.ops.begin(), step.ops.end(), [&](const Op& op) {
      return op.kind == OpKind::kUpdate && op.writes[0] == update.writes[0];
    });
    CHECK(updates == 1);
  }
}

TEST_CASE("a linear layer of positions has the work of each, and of the first one that of a single position") {
  const TrainingStep gpt = BuildTrainingStep(TinyGpt()), vit = BuildTrainingStep(TinyVit());
  // 4 samples of 6 positions, 8 to 24 features.
  CHECK(OpNamed(gpt, "h0_qkv:forward").work.flops == 2 * 4 * 6 * 8 * 24);
  CHECK(OpNamed(gpt, "h0_qkv:backward_data").work.flops == 2 * 4 * 6 * 8 * 24);
  CHECK(OpNamed(gpt, "h0_qkv:backward_filter").work.flops == 2 * 4 * 6 * 8 * 24);
  CHECK(OpNamed(gpt, "h0_qkv:forward").work.bytes == 4 * (8 * 24 + 4 * 6 * (8 + 24)));
  CHECK(OpNamed(vit, "head:forward").work.flops == 2 * 4 * 8 * 4);
}

TEST_CASE("attention's work: two products, five backward, half of them where it is causal") {
  const TrainingStep vit = BuildTrainingStep(TinyVit()), gpt = BuildTrainingStep(TinyGpt());
  const double product = 2 * 4 * 5 * 5 * 8;  // 4 samples, 5 tokens, 8 features
  CHECK(OpNamed(vit, "b0_attention:forward").work.flops == 2 * product);
  CHECK(OpNamed(vit, "b0_attention:backward").work.flops == 5 * product);
  CHECK(OpNamed(gpt, "h0_attention:forward").work.flops == 2 * 2 * 4 * (6 * 7 / 2) * 8);
  // Query, keys, values and result, once each.
  CHECK(OpNamed(vit, "b0_attention:forward").work.bytes == 4 * 4 * (4 * 5 * 8));
  const TrainingStep written = BuildTrainingStep(TinyVit(), StepOptionsByName("torch-1.13"));
  for (const char* op :
       {"scores", "forward", "backward_probabilities", "backward_values", "backward_queries", "backward_keys"}) {
    INFO(op);
    const Op& one = OpNamed(written, std::string("b0_attention:") + op);
    CHECK(one.kind == OpKind::kProduct);
    CHECK(one.work.flops == product);
    CHECK(one.work.bytes == 4 * (2 * (4 * 5 * 8) + 4 * 4 * 5 * 5));  // 4 heads' scores, and two of what is mixed
  }
}

TEST_CASE("attention keeps its inputs, its result and a number a row; written out, its probabilities") {
  const std::set<std::string> fused = SavedNames(BuildTrainingStep(TinyVit(), StepOptionsByName("torch-2")));
  for (const char* name : {"b0_qkv", "b0_attention", "b0_attention:log_sum"}) CHECK(fused.count(name) == 1);
  CHECK(fused.count("b0_attention:probabilities") == 0);
  const std::set<std::string> written = SavedNames(BuildTrainingStep(TinyVit(), StepOptionsByName("torch-1.13")));
  for (const char* name : {"b0_qkv", "b0_attention", "b0_attention:probabilities"}) CHECK(written.count(name) == 1);
  CHECK(written.count("b0_attention:scores") == 0);
  CHECK(written.count("b0_attention:log_sum") == 0);
  const std::set<std::string> dropped = SavedNames(BuildTrainingStep(TinyGpt(), StepOptionsByName("torch-1.13")));
  for (const char* name : {"h0_attention:probabilities", "h0_attention:dropped", "h0_attention:mask"}) {
    CHECK(dropped.count(name) == 1);
  }
  // Tokens, but no features of embeddings, whose gradient is the table's.
  CHECK(dropped.count("input") == 1);
  CHECK(dropped.count("wte") == 0);
}

TEST_CASE("attention has parts along the batch unless it draws") {
  const TrainingStep vit = BuildTrainingStep(TinyVit()), gpt = BuildTrainingStep(TinyGpt());
  CHECK(HasSampleParts(OpNamed(vit, "b0_attention:forward")));
  CHECK_FALSE(HasSampleParts(OpNamed(gpt, "h0_attention:forward")));
  CHECK_FALSE(HasSampleParts(OpNamed(gpt, "h0_attention:backward")));
  CHECK(HasSampleParts(OpNamed(gpt, "h0_qkv:forward")));
}

TEST_CASE("samples of layers over tokens say all of their launches") {
  std::set<OpKind> seen;
  for (const Network& network : {TinyGpt(), TinyVit(), TinyLlama(), TinyBert()}) {
    for (const char* options : {"torch-2", "torch-1.13"}) {
      for (const Op& op : BuildTrainingStep(network, StepOptionsByName(options)).ops) {
        if (!TraitsOf(op.kind).stated && op.kind != OpKind::kLinear && op.kind != OpKind::kPosition) continue;
        INFO(op.name);
        Sample sample;
        sample.what = SampleKind::kKernel;
        sample.device = "X";
        sample.launch = LaunchOf(op);
        sample.microseconds = 9;
        CHECK(ParseSamples(WriteSamples({&sample, 1}), "again.csv").samples.at(0).launch == sample.launch);
        seen.insert(op.kind);
      }
    }
  }
  CHECK(seen.size() == 8);
}

TEST_CASE("inference keeps no sums and drops nothing") {
  const TrainingStep step = BuildTrainingStep(TinyGpt(), StepOptionsByName("inference"));
  const Op& attention = OpNamed(step, "h0_attention:forward");
  CHECK(attention.writes.size() == 1);
  CHECK_FALSE(attention.side_effect);
  CHECK(attention.shape.operands == 2);  // causal
}

}  // namespace spillway
