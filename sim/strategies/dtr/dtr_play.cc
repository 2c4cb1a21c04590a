#include "sim/strategies/dtr/dtr_play.h"

#include <algorithm>

namespace spillway::dtr {
namespace {

constexpr std::int32_t kNoClass = -1;
std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

// Classes of missing values, with the time that it takes to have each back.
class MissingClasses {
 public:
  std::int32_t New(Nanos time) {
    parent_.push_back(static_cast<std::int32_t>(parent_.size()));
    time_.push_back(time);
    return parent_.back();
  }
  std::int32_t Root(std::int32_t of) {
    while (parent_[At(of)] != of) of = parent_[At(of)] = parent_[At(parent_[At(of)])];
    return of;
  }
  void Join(std::int32_t a, std::int32_t b) {
    a = Root(a), b = Root(b);
    if (a == b) return;
    parent_[At(b)] = a;
    time_[At(a)] += time_[At(b)];
  }
  void TakeOut(std::int32_t of, Nanos time) { time_[At(Root(of))] -= time; }
  Nanos TimeOf(std::int32_t root) const { return time_[At(root)]; }

 private:
  std::vector<std::int32_t> parent_;
  std::vector<Nanos> time_;
};

class Game {
 public:
  Game(const Graph& graph, Bytes budget) : graph_(graph), budget_(budget), state_(graph.values.size()) {
    for (std::size_t v = 0; v < graph.values.size(); ++v) {
      for (const std::int32_t source : graph.values[v].sources) {
        state_[v].around.push_back(source);
        state_[At(source)].around.push_back(static_cast<std::int32_t>(v));
      }
    }
    most_again_ = kMostAgain * graph.events.size();
    for (const std::int32_t v : graph.there) Arrive(v);
  }

  Trace Run() {
    for (event_ = 0; event_ < static_cast<std::int32_t>(graph_.events.size()); ++event_) {
      if (!RunEvent(graph_.events[At(event_)])) {
        trace_.failed = event_;
        break;
      }
    }
    trace_.time = clock_;
    return std::move(trace_);
  }

 private:
  struct State {
    bool present = false;
    int locks = 0;
    Nanos used = 0;                   // the last time
    std::int32_t missing = kNoClass;  // its class
    std::vector<std::int32_t> around{};
  };

  bool RunEvent(const Event& event) {
    Use(event.needs);
    for (const std::int32_t v : event.needs) {
      if (!BringBack(v)) return false;
    }
    Lock(event.writes, 1);
    Bytes wanted = event.workspace;
    for (const std::int32_t v : event.writes) wanted += state_[At(v)].present ? 0 : graph_.values[At(v)].bytes;
    if (!MakeRoom(wanted)) return false;
    for (const std::int32_t v : event.writes) {
      if (!state_[At(v)].present) Arrive(v);
    }
    trace_.peak = std::max(trace_.peak, live_ + event.workspace);
    clock_ += event.time;
    for (const std::int32_t v : event.writes) state_[At(v)].used = clock_;
    Lock(event.needs, -1);
    Lock(event.writes, -1);
    for (const std::int32_t v : event.dies) {
      if (state_[At(v)].present) Leave(v);
    }
    return true;
  }

  // From here on they stay; what is missing among them is brought back behind this.
  void Use(const std::vector<std::int32_t>& values) {
    for (const std::int32_t v : values) state_[At(v)].used = clock_;
    Lock(values, 1);
  }

  void Lock(const std::vector<std::int32_t>& values, int by) {
    for (const std::int32_t v : values) state_[At(v)].locks += by;
  }

  void Arrive(std::int32_t v) {
    state_[At(v)].present = true;
    live_ += graph_.values[At(v)].bytes;
    if (graph_.values[At(v)].may_leave) movable_.push_back(v);
  }

  bool BringBack(std::int32_t v) {
    State& state = state_[At(v)];
    const Value& value = graph_.values[At(v)];
    if (state.present || !value.may_leave || event_ <= value.complete) return true;
    if (++again_ > most_again_) trace_.too_often = true;
    if (trace_.too_often) return false;
    Use(value.sources);
    ++state.locks;
    for (const std::int32_t source : value.sources) {
      if (!BringBack(source)) return false;
    }
    if (!MakeRoom(value.bytes + value.workspace)) return false;
    Arrive(v);
    trace_.peak = std::max(trace_.peak, live_ + value.workspace);
    clock_ += value.time;
    if (state.missing != kNoClass) missing_.TakeOut(state.missing, value.time);
    state.missing = kNoClass;
    trace_.happened.push_back({event_, v, true});
    --state.locks;
    Lock(value.sources, -1);
    return true;
  }

  bool MakeRoom(Bytes wanted) {
    while (live_ + wanted > budget_) {
      const std::int32_t v = Cheapest();
      if (v < 0) return false;
      trace_.happened.push_back({event_, v, false});
      Leave(v);
    }
    return true;
  }

  void Leave(std::int32_t v) {
    State& state = state_[At(v)];
    state.present = false;
    live_ -= graph_.values[At(v)].bytes;
    if (!graph_.values[At(v)].may_leave) return;
    movable_.erase(std::find(movable_.begin(), movable_.end(), v));
    state.missing = missing_.New(graph_.values[At(v)].time);
    for (const std::int32_t near : state.around) {
      if (state_[At(near)].missing != kNoClass) missing_.Join(state_[At(near)].missing, state.missing);
    }
  }

  std::int32_t Cheapest() {
    std::int32_t best = -1;
    double least = 0;
    for (const std::int32_t v : movable_) {
      const Value& value = graph_.values[At(v)];
      if (state_[At(v)].locks > 0 || value.bytes == 0 || event_ <= value.complete) continue;
      const Nanos unused = std::max<Nanos>(1, clock_ - state_[At(v)].used);
      const double weight = static_cast<double>(value.bytes) * static_cast<double>(unused);
      // Its own time alone says that it is not the cheapest: most of the values, whose classes need not be looked for.
      if (best >= 0 && static_cast<double>(value.time) / weight > least) continue;
      const double cost = static_cast<double>(TimeAround(v)) / weight;
      if (best >= 0 && (cost > least || (cost == least && v > best))) continue;
      best = v;
      least = cost;
    }
    return best;
  }

  Nanos TimeAround(std::int32_t v) {
    Nanos time = graph_.values[At(v)].time;
    seen_.clear();
    for (const std::int32_t near : state_[At(v)].around) {
      if (state_[At(near)].missing == kNoClass) continue;
      const std::int32_t root = missing_.Root(state_[At(near)].missing);
      if (std::find(seen_.begin(), seen_.end(), root) != seen_.end()) continue;
      seen_.push_back(root);
      time += missing_.TimeOf(root);
    }
    return time;
  }

  const Graph& graph_;
  const Bytes budget_;
  std::vector<State> state_;           // by value
  std::vector<std::int32_t> movable_;  // present, and may leave
  std::vector<std::int32_t> seen_;     // classes
  MissingClasses missing_;
  Trace trace_;
  Bytes live_ = 0;
  Nanos clock_ = 0;
  std::int32_t event_ = 0;
  std::size_t again_ = 0, most_again_ = 0;
};

}  // namespace

Trace Play(const Graph& graph, Bytes budget) { return Game(graph, budget).Run(); }

}  // namespace spillway::dtr
