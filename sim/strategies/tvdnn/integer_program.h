// A linear program of which some columns are whole numbers, by branch and bound over its relaxations.
//
// Best first; every node also tries its relaxation's columns rounded up, which is right where more of a whole column never
// breaks a row. Stops after so many nodes, not after some time; then `bound` says how far the answer may be off.
#ifndef SPILLWAY_SIM_STRATEGIES_TVDNN_INTEGER_PROGRAM_H_
#define SPILLWAY_SIM_STRATEGIES_TVDNN_INTEGER_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "sim/bounds/linear_program.h"

namespace spillway::tvdnn {

struct IntegerProgram {
  LinearProgram rows;
  std::vector<int> whole;  // columns; their upper bounds are whole numbers
};

struct IntegerSolution {
  bool found = false;
  double value = 0, bound = 0;  // of the best one known; of all: within `close` of `value` where it is proved the best
  std::vector<double> columns;  // of the best one; whole where they have to be
  std::int64_t nodes = 0;       // relaxations solved
};

// `close`: differences that do not matter. Deterministic.
IntegerSolution Minimise(const IntegerProgram& program, std::int64_t most_nodes, double close);

}  // namespace spillway::tvdnn

#endif  // SPILLWAY_SIM_STRATEGIES_TVDNN_INTEGER_PROGRAM_H_
