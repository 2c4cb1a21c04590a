// Clauses 4 to 6 of sim/program/program.h on vector clocks.
//
//   compute   W b    record e                          W and R touch b. R is ordered after W because its stream has
//   d2h                        wait e    R b           waited for e: the row of R says that compute has come past W.
//
// List order contains the partial order (a stream follows it, and a wait comes after its record), so one pass in list
// order sees every instruction after all those that happen before it.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/program/step_tables.h"
#include "sim/verify/verify_places.h"

namespace spillway::verifying {

HappensBefore::HappensBefore(const Program& program)
    : program_(program), streams_(program.streams.size()), known_(program.code.size() * streams_) {
  std::vector<InstructionIndex> host(streams_, 0);                     // what the host has waited for
  std::vector<InstructionIndex> stream_knows(streams_ * streams_, 0);  // [stream][stream]
  std::vector<InstructionIndex> event_knows(program.events * streams_, 0);
  const auto join = [this](InstructionIndex* into, const InstructionIndex* other) {
    for (std::size_t s = 0; s < streams_; ++s) into[s] = std::max(into[s], other[s]);
  };
  for (InstructionIndex i = 0; i < program.code.size(); ++i) {
    const Instruction& in = program.code[i];
    if (in.opcode == Opcode::kHostSync) {
      std::copy(host.begin(), host.end(), &known_[i * streams_]);
      join(host.data(), &event_knows[in.arg * streams_]);
      continue;
    }
    InstructionIndex* mine = &stream_knows[in.stream * streams_];
    join(mine, host.data());
    std::copy(mine, mine + streams_, &known_[i * streams_]);
    if (in.opcode == Opcode::kWait) join(mine, &event_knows[in.arg * streams_]);
    mine[in.stream] = i + 1;
    if (in.opcode == Opcode::kRecord) std::copy(mine, mine + streams_, &event_knows[in.arg * streams_]);
  }
}

namespace {

// What is the same whether places are told apart or not.
class Accesses {
 public:
  Accesses(const Program& program, const Lifetimes& lifetimes, const HappensBefore& before, Report& report)
      : program_(program), lifetimes_(lifetimes), before_(before), report_(report) {}

 protected:
  void CheckFree(InstructionIndex i, BufferId b) {
    if (!before_(lifetimes_.alloc[b], i)) Unordered(i, b, "kFree", "kAlloc", lifetimes_.alloc[b]);
  }

  void CheckLive(InstructionIndex i, BufferId b) {
    const InstructionIndex alloc = lifetimes_.alloc[b];
    if (alloc == kNowhere) return;  // on the host
    if (!before_(alloc, i)) Unordered(i, b, "use", "kAlloc", alloc);
    if (lifetimes_.free[b] < i) {
      report_.Add("clause 4", i, b, fmt::format("it is used after its kFree at {}", lifetimes_.free[b]));
    }
  }

  void Unordered(InstructionIndex i, BufferId b, const char* what, const char* other, InstructionIndex at) {
    report_.Add("clause 4", i, b, fmt::format("this {} need not follow the {} at instruction {}", what, other, at));
  }

  const Program& program_;
  const Lifetimes& lifetimes_;
  const HappensBefore& before_;
  Report& report_;
};

// Per buffer only the last write and the last read on each stream are kept: earlier ones happen before those, or were
// reported when those came.
class BufferAccesses : public Accesses {
 public:
  BufferAccesses(const Program& program, const Lifetimes& lifetimes, const HappensBefore& before, Report& report)
      : Accesses(program, lifetimes, before, report),
        streams_(program.streams.size()),
        write_(program.buffers.size(), kNowhere),
        read_(program.buffers.size() * streams_, kNowhere) {}

  void Run() {
    for (InstructionIndex i = 0; i < program_.code.size(); ++i) {
      const Instruction& in = program_.code[i];
      ForEachAccess(program_, in, [&](BufferId b, Access access) {
        CheckLive(i, b);
        CheckConflicts(i, b, Writes(access), Writes(access) ? "write" : "read");
      });
      ForEachAccess(program_, in, [&](BufferId b, Access access) { Remember(i, in.stream, b, access); });
      if (in.opcode != Opcode::kFree) continue;
      CheckFree(i, in.arg);
      CheckConflicts(i, in.arg, true, "kFree");
    }
  }

 private:
  void CheckConflicts(InstructionIndex i, BufferId b, bool with_reads, const char* what) {
    if (write_[b] != kNowhere && !before_(write_[b], i)) Unordered(i, b, what, "write", write_[b]);
    if (!with_reads) return;
    for (std::size_t s = 0; s < streams_; ++s) {
      const InstructionIndex read = read_[b * streams_ + s];
      if (read != kNowhere && !before_(read, i)) Unordered(i, b, what, "read", read);
    }
  }

  void Remember(InstructionIndex i, StreamId stream, BufferId b, Access access) {
    if (Writes(access)) write_[b] = i;
    if (Reads(access)) read_[b * streams_ + stream] = i;
  }

  std::size_t streams_;
  std::vector<InstructionIndex> write_;  // by buffer
  std::vector<InstructionIndex> read_;   // by buffer and stream
};

// Per place of each buffer.
class PlacesAccesses : public Accesses {
 public:
  PlacesAccesses(const Program& program, const TrainingStep& step, const Lifetimes& lifetimes,
                 const HappensBefore& before, Report& report)
      : Accesses(program, lifetimes, before, report), step_(step), places_(program.buffers.size()) {}

  void Run() {
    for (InstructionIndex i = 0; i < program_.code.size(); ++i) {
      const Instruction& in = program_.code[i];
      const std::vector<Touched> touched = TouchedBy(in);
      for (const Touched& t : touched) {
        CheckLive(i, t.buffer);
        CheckConflicts(i, t.buffer, t.box, Writes(t.access), Writes(t.access) ? "write" : "read");
      }
      for (const Touched& t : touched) {
        if (Reads(t.access)) places_[t.buffer].Remember({t.box, i, in.stream, false});
        if (Writes(t.access)) places_[t.buffer].Remember({t.box, i, in.stream, true});
      }
      if (in.opcode != Opcode::kFree) continue;
      CheckFree(i, in.arg);
      const Buffer& buffer = program_.buffers[in.arg];
      const bool tensor = buffer.kind != BufferKind::kWorkspace && buffer.tensor != kNoTensor;
      CheckConflicts(i, in.arg, tensor ? HeldBy(program_, in.arg, step_) : WholeOf({}), true, "kFree");
    }
  }

 private:
  struct Touched {
    BufferId buffer;
    Access access;
    Box box;
  };
  std::vector<Touched> TouchedBy(const Instruction& in) const {
    std::vector<Touched> touched;
    if (in.opcode == Opcode::kKernel) {
      const Kernel& kernel = program_.kernels[in.arg];
      for (std::uint32_t k = 0; k < kernel.operand_count; ++k) {
        const Operand& operand = program_.operands[kernel.operands + k];
        touched.push_back({operand.buffer, operand.access, PlacesOf(program_, step_, operand)});
      }
    } else if (in.opcode == Opcode::kCopy) {
      const Copy& copy = program_.copies[in.arg];
      touched.push_back({copy.from, Access::kRead, PlacesOf(program_, step_, copy, false)});
      touched.push_back({copy.to, Access::kWrite, PlacesOf(program_, step_, copy, true)});
    }
    return touched;
  }

  void CheckConflicts(InstructionIndex i, BufferId b, const Box& box, bool write, const char* what) {
    places_[b].ForEachConflict(box, write, [&](const PlaceAccesses::Known& earlier) {
      if (!before_(earlier.at, i)) Unordered(i, b, what, earlier.write ? "write" : "read", earlier.at);
    });
  }

  const TrainingStep& step_;
  std::vector<PlaceAccesses> places_;  // by buffer
};

// Who had each address last, of one device.
class AddressMap {
 public:
  // Calls f(previous owner) for each stretch of [begin, end) that had one, then gives it all to `owner`.
  template <typename F>
  void Take(Bytes begin, Bytes end, BufferId owner, F f) {
    auto it = owners_.lower_bound(begin);
    if (it != owners_.begin() && std::prev(it)->second.end > begin) --it;
    while (it != owners_.end() && it->first < end) {
      const auto [start, stretch] = *it;
      f(stretch.owner);
      it = owners_.erase(it);
      if (start < begin) owners_[start] = {begin, stretch.owner};
      if (stretch.end > end) owners_[end] = stretch;
    }
    owners_[begin] = {end, owner};
  }

 private:
  struct Stretch {
    Bytes end;
    BufferId owner;
  };
  std::map<Bytes, Stretch> owners_;  // by first address, disjoint
};

}  // namespace

void CheckAccesses(const Program& program, const TrainingStep* step, const Lifetimes& lifetimes,
                   const HappensBefore& before, Report& report) {
  if (step != nullptr && !program.boxes.empty()) {
    PlacesAccesses(program, *step, lifetimes, before, report).Run();
  } else {
    BufferAccesses(program, lifetimes, before, report).Run();
  }
}

// Checking against the last owner of every address is enough: its kAlloc follows the kFree of the one before, its own
// kFree follows its kAlloc.
void CheckArena(const Program& program, const Lifetimes& lifetimes, const HappensBefore& before, Report& report) {
  std::map<std::int16_t, AddressMap> devices;
  for (InstructionIndex i = 0; i < program.code.size(); ++i) {
    if (program.code[i].opcode != Opcode::kAlloc) continue;
    const BufferId b = program.code[i].arg;
    const Buffer& buffer = program.buffers[b];
    if (buffer.offset < 0) report.Add("clause 5", i, b, "it has no address");
    if (buffer.offset < 0 || buffer.bytes == 0) continue;
    devices[buffer.place].Take(buffer.offset, buffer.offset + buffer.bytes, b, [&](BufferId other) {
      const InstructionIndex freed = lifetimes.free[other];
      if (freed < i && before(freed, i)) return;
      report.Add(
          "clause 5", i, b,
          fmt::format("it shares addresses with buffer {}, whose kFree at {} need not come first", other, freed));
    });
  }
}

void CheckCounted(const Program& program, Bytes capacity, const std::vector<RestingTensor>& resting, Report& report) {
  struct Device {
    StreamId stream = kMaxStreams;  // of its first kAlloc
    Bytes out = 0;
  };
  std::map<std::int16_t, Device> devices;
  std::vector<bool> out_at_start(program.buffers.size(), false), out_at_end = out_at_start;
  for (const auto& [first, last] : resting) {
    out_at_start[first] = out_at_end[last] = true;
    devices[program.buffers[first].place].out += program.buffers[first].bytes;
  }
  for (InstructionIndex i = 0; i < program.code.size(); ++i) {
    const Instruction& in = program.code[i];
    if (in.opcode != Opcode::kAlloc && in.opcode != Opcode::kFree) continue;
    const Buffer& buffer = program.buffers[in.arg];
    Device& device = devices[buffer.place];
    if (device.stream == kMaxStreams) device.stream = in.stream;
    if (program.streams[in.stream].kind != StreamKind::kCompute || in.stream != device.stream) {
      report.Add("clause 5b", i, in.arg, "counted memory is allocated and freed on the device's one compute stream");
    }
    const bool alloc = in.opcode == Opcode::kAlloc;
    if (alloc && !out_at_start[in.arg]) device.out += buffer.bytes;
    if (!alloc && !out_at_end[in.arg]) device.out -= buffer.bytes;
    if (!alloc) continue;
    if (buffer.bytes % kAllocationUnit != 0) {
      report.Add("clause 5b", i, in.arg, fmt::format("{} bytes are no whole blocks", buffer.bytes));
    }
    if (capacity == 0 || device.out <= capacity) continue;
    report.Add("clause 5b", i, in.arg, fmt::format("{} bytes would be out, of {}", device.out, capacity));
  }
}

// The last kFree of each compute stream is enough: it follows those before it.
void CheckPool(const Program& program, const HappensBefore& before, Report& report) {
  std::vector<InstructionIndex> freed(program.streams.size(), kNowhere);  // by compute stream
  for (InstructionIndex i = 0; i < program.code.size(); ++i) {
    const Instruction& in = program.code[i];
    const bool compute = program.streams[in.stream].kind == StreamKind::kCompute;
    if (in.opcode == Opcode::kFree && compute) freed[in.stream] = i;
    if (in.opcode != Opcode::kAlloc || compute) continue;
    for (std::size_t s = 0; s < freed.size(); ++s) {
      const bool same_device = program.streams[s].device == program.streams[in.stream].device;
      if (freed[s] == kNowhere || !same_device || before(freed[s], i)) continue;
      report.Add("clause 6", i, in.arg,
                 fmt::format("the pool may hand out what the kFree at {} has yet to give back", freed[s]));
    }
  }
}

}  // namespace spillway::verifying
