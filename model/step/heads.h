// Attention in heads: how channels are shared out, and what its launches say beyond shapes.
//
// Tokens are positions. Queries are n x (heads * size) x T, keys and values n x (kv_heads * size) x T; scores are
// n x heads x T of the queries x T of the keys. Queries of several heads share keys and values where kv_heads is less
// (grouped heads). Packed: one tensor has the channels of the queries, then of the keys, then of the values.
#ifndef SPILLWAY_MODEL_STEP_HEADS_H_
#define SPILLWAY_MODEL_STEP_HEADS_H_

#include <cstdint>

namespace spillway {

// What of an attention written out a matrix product is.
enum class ProductRole : std::uint8_t {
  kScores,          // queries x keys; reads both
  kMixture,         // probabilities x values; reads both
  kScoresGradient,  // reads the result's gradient and the values
  kValueGradient,   // reads the result's gradient and the probabilities
  kQueryGradient,   // reads the scores' gradient and the keys
  kKeyGradient,     // reads the scores' gradient and the queries
};

struct HeadSplit {
  std::int64_t heads = 1, kv_heads = 1;
  std::int64_t size = 1;               // features of a head
  std::int64_t queries = 1, keys = 1;  // positions of each, of one row
  std::int64_t rows = 1;               // of positions, which attend to themselves alone: windows
  bool packed = false;
  ProductRole role = ProductRole::kScores;  // products alone
  std::int64_t Channels() const { return packed ? (heads + 2 * kv_heads) * size : heads * size; }
  bool operator==(const HeadSplit&) const = default;
};

// OpShape::operands of an op of kind Attention, as its cost hangs on both.
constexpr std::int64_t AttentionOperands(bool causal, bool drops) { return 1 + (causal ? 1 : 0) + (drops ? 2 : 0); }
constexpr bool IsCausal(std::int64_t operands) { return operands % 2 == 0; }  // reads positions up to its own alone
constexpr bool DrawsMask(std::int64_t operands) { return operands > 2; }      // drops scores at random

}  // namespace spillway

#endif  // SPILLWAY_MODEL_STEP_HEADS_H_
