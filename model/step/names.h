// From the names of ops, passes and formats back to their values; nullopt for an unknown name.
#ifndef SPILLWAY_MODEL_STEP_NAMES_H_
#define SPILLWAY_MODEL_STEP_NAMES_H_

#include <optional>
#include <string_view>

#include "model/step/training_step.h"

namespace spillway {

std::optional<OpKind> OpKindByName(std::string_view name);
std::optional<Pass> PassByName(std::string_view name);
std::optional<DataType> DataTypeByName(std::string_view name);
std::optional<MathMode> MathModeByName(std::string_view name);
std::optional<Layout> LayoutByName(std::string_view name);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_STEP_NAMES_H_
