// Which repeated module each call is in, by the names of modules.
#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "model/recorded/recorded_graph.h"

namespace spillway {

namespace {

bool IsNumber(std::string_view part) {
  return !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Where the numbers of a name end that have parts behind them: 8 of "layers.3.attention".
std::vector<std::size_t> EndsOfNumbers(std::string_view module) {
  std::vector<std::size_t> ends;
  for (std::size_t begin = 0, dot = module.find('.'); dot != module.npos; dot = module.find('.', begin)) {
    if (IsNumber(module.substr(begin, dot - begin))) ends.push_back(dot);
    begin = dot + 1;
  }
  return ends;
}

std::string_view ParentOf(std::string_view block) {
  const std::size_t dot = block.rfind('.');
  return dot == block.npos ? std::string_view() : block.substr(0, dot);
}

}  // namespace

std::vector<std::int32_t> BlocksOfModules(const std::vector<RecordedCall>& calls) {
  std::set<std::string_view> known;
  std::map<std::string_view, int> siblings;  // by parent
  for (const RecordedCall& call : calls) {
    for (const std::size_t end : EndsOfNumbers(call.module)) {
      const std::string_view block = std::string_view(call.module).substr(0, end);
      if (known.insert(block).second) ++siblings[ParentOf(block)];
    }
  }
  std::map<std::string_view, std::int32_t> numbers;  // of blocks, as they come
  std::vector<std::int32_t> blocks;
  for (const RecordedCall& call : calls) {
    blocks.push_back(-1);
    for (const std::size_t end : EndsOfNumbers(call.module)) {
      const std::string_view block = std::string_view(call.module).substr(0, end);
      if (siblings[ParentOf(block)] < 2) continue;
      blocks.back() = numbers.try_emplace(block, static_cast<std::int32_t>(numbers.size())).first->second;
      break;
    }
  }
  return blocks;
}

}  // namespace spillway
