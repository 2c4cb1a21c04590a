// Launches as text and back: how a measured launch is written down (model/profile/machine.h, MeasuredOp).
//
//   32x16x8x8 -> 32x32x8x8 window 3x3 stride 2x2 pad 1x1 groups 2
//   32x16x8x8 operands 2
//
// The shape of the forward input; "->" and that of the forward output, unless they are equal; window, stride,
// dilation, pad, groups and operands where they are not 1 (pad: 0). Shapes are n x c x h x w, or n x c x d x h x w with a depth;
// triples are height x width, with the depth in front where it is not 1 (pad: 0). One launch has one text.
#ifndef SPILLWAY_MODEL_PROFILE_LAUNCH_TEXT_H_
#define SPILLWAY_MODEL_PROFILE_LAUNCH_TEXT_H_

#include <optional>
#include <string>
#include <string_view>

#include "model/profile/machine.h"
#include "model/step/launch.h"

namespace spillway {

std::string OpShapeText(const OpShape& shape);
// How messages tell launches of one op apart: " in fp16 nhwc"; "" for fp32 in NCHW.
std::string FormatText(const Launch& launch);
// nullopt: no such text, or not the one that OpShapeText writes.
std::optional<OpShape> OpShapeByText(std::string_view text);

// What identifies the launch; time, error and workspace remain to be set. Launch::workspace does not matter.
MeasuredOp MeasuredOpOf(const Launch& launch);
// The launch, its workspace kUsualWorkspace. Throws UserError: an unknown name (the nearest is named) or a wrong shape.
Launch LaunchOf(const MeasuredOp& op);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_PROFILE_LAUNCH_TEXT_H_
