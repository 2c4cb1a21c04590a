// Recorded steps drawn at random, as text: forward ops that read earlier results at will, with views, several results,
// updates in place (of results, beside others, of what stays on the device), ops that must not run again; backward ops that
// read results of forward and write over some; menus; zero sizes.
#ifndef SPILLWAY_TESTS_RECORDED_TEXT_H_
#define SPILLWAY_TESTS_RECORDED_TEXT_H_

#include <fmt/format.h>

#include <string>
#include <vector>

#include "model/util/random.h"

namespace spillway {

class RecordedText {
 public:
  explicit RecordedText(std::uint64_t seed) : random_(seed), again_(seed + 1'000'000) {}

  std::string Draw() {
    text_ = R"({"graph": "drawn", "source": {"assumed": "drawn"}, "error": 0.1, "fixed_bytes": 700, "values": [
{"id": "x", "bytes": 5000, "where": "host"}, {"id": "w", "bytes": 3000}], "nodes": [)";
    names_ = {"x", "w"};
    const std::int32_t forward = random_.Between(3, 12), backward = random_.Between(2, 12);
    for (std::int32_t n = 0; n < forward; ++n) Node(n, false);
    for (std::int32_t n = 0; n < backward; ++n) Node(forward + n, true);
    return text_ + "]}\n";
  }

 private:
  bool OneIn(std::uint32_t n) { return random_.Below(n) == 0; }
  std::size_t Pick() { return random_.Below(static_cast<std::uint32_t>(names_.size())); }

  void Node(std::int32_t n, bool backward) {
    std::vector<std::string> deps{names_.back()};
    for (std::uint32_t k = random_.Below(3); k > 0; --k) deps.push_back(names_[Pick()]);
    std::string node = fmt::format("{}\n{{\"id\": \"n{}\", \"op\": \"o\"{}{}, {}, \"deps\": [\"{}\"], \"results\": [",
                                   n > 0 ? "," : "", n, backward ? ", \"pass\": \"backward\"" : "",
                                   OneIn(9) ? ", \"recompute\": false" : "", Times(), fmt::join(deps, "\", \""));
    if (!backward && node.find("recompute") == node.npos && again_.Below(3) == 0) AddAgain(node);
    text_ += node;
    const std::uint32_t results = OneIn(4) ? 2 : 1;
    for (std::uint32_t k = 0; k < results; ++k)
      text_ += (k > 0 ? ", " : "") + Result(fmt::format("r{}.", n), std::to_string(k));
    text_ += "]}";
  }

  std::string Times() {
    if (!OneIn(3)) return fmt::format("\"ns\": {}", random_.Below(20000));
    return fmt::format(R"("ways": [{{"ns": {}, "workspace": {}}}, {{"ns": {}}}])", random_.Below(9000),
                       random_.Below(30000), random_.Below(20000));
  }

  // Times of recomputations, of its ways some or all.
  void AddAgain(std::string& node) {
    const std::string key = "\"ns\": ";
    for (std::size_t at = node.find(key); at != node.npos; at = node.find(key, at + key.size() + 20)) {
      const std::string again = fmt::format("\"recompute_ns\": {}, ", again_.Below(20000));
      if (again_.Below(4) > 0) node.insert(at, again);
    }
  }

  std::string Result(const std::string& node, const std::string& number) {
    const std::string id = node + number;
    const std::size_t of = Pick();
    const std::string other = names_[of];
    if (OneIn(5) && other != "x" && !other.starts_with(node)) {
      names_[of] = id;
      return fmt::format(R"({{"id": "{}", "in_place": "{}"}})", id, other);
    }
    if (OneIn(8)) return fmt::format(R"({{"id": "{}", "alias": "{}"}})", id, other);  // read by nobody
    names_.push_back(id);
    return fmt::format(R"({{"id": "{}", "bytes": {}}})", id, OneIn(9) ? 0 : 512 * random_.Below(40));
  }

  Random random_, again_;
  std::string text_;
  std::vector<std::string> names_;  // that may be read
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_RECORDED_TEXT_H_
