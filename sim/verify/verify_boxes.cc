#include "sim/verify/verify_boxes.h"

#include <algorithm>
#include <utility>

namespace spillway::verifying {

namespace {

// What of `boxes` is not in `hole`.
std::vector<Box> AllWithout(const std::vector<Box>& boxes, const Box& hole) {
  std::vector<Box> rest;
  for (const Box& box : boxes) {
    const std::vector<Box> left = Without(box, hole);
    rest.insert(rest.end(), left.begin(), left.end());
  }
  return rest;
}

bool Overlap(const Box& a, const Box& b) { return Intersection(a, b).Elements() > 0; }

std::int64_t Elements(const std::vector<Box>& boxes) {
  std::int64_t sum = 0;
  for (const Box& box : boxes) sum += box.Elements();
  return sum;
}

}  // namespace

void Pieces::Erase(const Box& box) {
  std::vector<Piece> rest;
  for (Piece& piece : pieces_) {
    if (!Overlap(piece.box, box)) {
      rest.push_back(std::move(piece));
      continue;
    }
    for (const Box& left : Without(piece.box, box)) rest.push_back({left, piece.version, piece.summed});
  }
  pieces_ = std::move(rest);
}

void Pieces::Write(const Box& box, Version version) {
  Erase(box);
  if (box.Elements() > 0) pieces_.push_back({box, version, {}});
}

std::vector<Box> Pieces::Missing(const Box& box, Version version) const {
  std::vector<Box> missing{box};
  for (const Piece& piece : pieces_) {
    if (piece.version == version && piece.summed.empty()) missing = AllWithout(missing, piece.box);
  }
  std::erase_if(missing, [](const Box& left) { return left.Elements() == 0; });
  return missing;
}

std::string Pieces::Add(const Box& box, Version version, const Part& part, bool begins, bool& finished) {
  if (begins) {
    Erase(box);
    pieces_.push_back({box, version, {}});
  }
  const auto open = std::find_if(pieces_.begin(), pieces_.end(), [&](const Piece& piece) {
    return piece.box == box && piece.version == version && (begins || !piece.summed.empty());
  });
  if (open == pieces_.end()) return "it adds to a sum that nothing has begun";
  const bool twice = std::any_of(open->summed.begin(), open->summed.end(),
                                 [&](const Box& summed) { return Overlap(summed, part.summed); });
  if (twice) return "it adds what the sum has already";
  open->summed.push_back(part.summed);
  std::vector<Box> left{part.all};
  for (const Box& summed : open->summed) left = AllWithout(left, summed);
  finished = Elements(left) == 0;
  if (finished) open->summed.clear();
  return "";
}

bool Pieces::CopyFrom(const Pieces& from, const Box& box) {
  Erase(box);
  std::vector<Box> undefined{box};
  for (const Piece& piece : from.pieces_) {
    const Box both = Intersection(piece.box, box);
    if (both.Elements() == 0 || !piece.summed.empty()) continue;
    pieces_.push_back({both, piece.version, {}});
    undefined = AllWithout(undefined, both);
  }
  return Elements(undefined) > 0;
}

std::string FinishedParts::Note(OpId op, TensorId tensor, const Box& box) {
  std::vector<Result>& results = of_op_[op];
  const bool twice = std::any_of(results.begin(), results.end(), [&](const Result& result) {
    return result.tensor == tensor && Overlap(result.box, box);
  });
  results.push_back({tensor, box});
  return twice ? "places of the result are computed twice" : "";
}

std::vector<std::string> FinishedParts::Unfinished() const {
  std::vector<std::string> texts;
  for (const auto& [op, results] : of_op_) {
    for (const TensorId t : step_.ops[Index(op)].writes) {
      const Tensor& tensor = step_.tensors[Index(t)];
      std::int64_t done = 0;
      for (const Result& result : results) done += result.tensor == t ? result.box.Elements() : 0;
      if (done >= tensor.shape.Elements()) continue;
      texts.push_back("the parts of " + step_.ops[Index(op)].name + " do not complete " + tensor.name);
    }
  }
  return texts;
}

bool IsPart(const Program& program, const TrainingStep& step, const Kernel& kernel) {
  if (program.boxes.empty()) return false;
  TensorId known = kNoTensor;  // sections follow each other
  for (std::uint32_t k = 0; k < kernel.operand_count; ++k) {
    const Operand& operand = program.operands[kernel.operands + k];
    const Buffer& buffer = program.buffers[operand.buffer];
    if (buffer.kind == BufferKind::kWorkspace || buffer.tensor == kNoTensor || buffer.tensor == known) continue;
    const Box whole = WholeOf(step.tensors[Index(buffer.tensor)].shape);
    if (BoxIn(program, operand.buffer, operand.box, step) == whole) continue;
    if (OperandsOf(program, step, kernel, buffer.tensor).together != whole) return true;
    known = buffer.tensor;
  }
  return false;
}

std::vector<bool> DividedTensors(const Program& program, const TrainingStep& step) {
  if (program.boxes.empty()) return {};
  std::vector<bool> divided(step.tensors.size(), false);
  const auto note = [&](BufferId buffer, BoxId box) {
    const TensorId t = program.buffers[buffer].tensor;
    if (box != kWhole && t != kNoTensor) divided[Index(t)] = true;
  };
  for (BufferId b = 0; b < program.buffers.size(); ++b) note(b, program.buffers[b].box);
  for (const Operand& operand : program.operands) note(operand.buffer, operand.box);
  for (const Copy& copy : program.copies) note(copy.from, copy.fill ? 0 : copy.box);
  for (const Kernel& kernel : program.kernels) {  // a part may write all that a buffer holds, one of several times
    for (std::uint32_t k = 0; k < kernel.operand_count && IsPart(program, step, kernel); ++k) {
      note(program.operands[kernel.operands + k].buffer, 0);
    }
  }
  return divided;
}

}  // namespace spillway::verifying
