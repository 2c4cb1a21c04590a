// Follows the contents of all buffers through a Program in list order: what is the same with and without a step.
#ifndef SPILLWAY_SIM_VERIFY_VERIFY_CONTENTS_H_
#define SPILLWAY_SIM_VERIFY_VERIFY_CONTENTS_H_

#include <span>
#include <vector>

#include "sim/verify/verify_internal.h"

namespace spillway::verifying {

using Version = std::int32_t;  // of a tensor; without a step 0 is all there is
constexpr Version kUndefined = -1;

// What a buffer holds.
struct Content {
  Version version = kUndefined;
  Bytes bytes = 0;  // of that version that have arrived, from the beginning; a tensor may be copied in pieces
};

// Where clause 4 holds every timing gives the same contents, so list order is as good as any.
class Contents {
 public:
  Contents(const Program& program, Report& report)
      : program_(program), report_(report), content_(program.buffers.size()) {}
  virtual ~Contents() = default;

  void Run();

 protected:
  // Of a host buffer, before the first instruction. `read_first`: some instruction reads it before any writes it.
  virtual Content AtStart(BufferId host, bool read_first, bool written) = 0;
  // What a device buffer holds when it is allocated: nothing, or the value that outlived the last step.
  virtual Content AtAlloc(BufferId buffer) = 0;
  // Checks what the kernel reads and sets what it writes.
  virtual void RunKernel(InstructionIndex i, const Kernel& kernel) = 0;
  // Follows a copy of a tensor that is divided into boxes; false, and nothing is done, for any other.
  virtual bool RunBoxCopy(InstructionIndex /*i*/, const Copy& /*copy*/) { return false; }
  virtual void AtEnd() {}
  // Bytes that make a buffer's content complete.
  virtual Bytes Full(BufferId buffer) const = 0;

  bool Defined(BufferId b) const { return content_[b].version != kUndefined && content_[b].bytes >= Full(b); }
  // Reports a read of a buffer that is not Defined().
  void Undefined(InstructionIndex i, BufferId b);
  std::span<const Operand> Operands(const Kernel& kernel) const {
    return {program_.operands.data() + kernel.operands, kernel.operand_count};
  }

  const Program& program_;
  Report& report_;
  std::vector<Content> content_;  // by buffer

 private:
  void FillHost();
  void RunCopy(InstructionIndex i, const Copy& copy);
};

// As Contents, with versions; the pass CheckContents() when there is a step.
void CheckStepContents(const Program& program, const TrainingStep& step, const std::vector<RestingTensor>& resting,
                       Report& report);

}  // namespace spillway::verifying

#endif  // SPILLWAY_SIM_VERIFY_VERIFY_CONTENTS_H_
