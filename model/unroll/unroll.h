// From a network to one iteration of its training, as a framework would run it.
#ifndef SPILLWAY_MODEL_UNROLL_UNROLL_H_
#define SPILLWAY_MODEL_UNROLL_UNROLL_H_

#include <string>
#include <vector>

#include "model/network/network.h"
#include "model/network/optimizer.h"
#include "model/step/launch.h"
#include "model/step/training_step.h"
#include "model/unroll/saved_tensors.h"

namespace spillway {

// How a framework differs in the step that it makes of a network: a row of a table, not forks in the code.
struct StepOptions {
  const char* name = "plain";
  const char* description = "every op has its own result; add's gradient is shared, concat copies";
  // ReLU, dropout and activations whose row says so (model/step/activation.h) overwrite an input that backward does not
  // need.
  bool inplace_relu = false;
  bool inplace_add = false;       // add overwrites its first input under the same condition
  bool inplace_gradient = false;  // the gradient through ReLU and dropout overwrites the incoming one
  // Forks add gradients by a kernel of their own into a new tensor, not inside the producer.
  bool separate_accumulation = false;
  // Backward of convolution and linear: data, filter, bias (Chainer, PyTorch). False: bias, filter, data (Caffe), where
  // the saved input can go before its gradient exists.
  bool data_first = false;
  const SavedTensors* saved = &kSavedByArithmetic;  // what backward saves
  // A parameter is updated right after its gradient is complete. Refused where all gradients are needed first: clipping,
  // a scaled loss.
  bool update_at_once = false;
  const Optimizer* optimizer = &kSgdMomentum;   // of networks that name none
  Bytes workspace_limit = kFrameworkWorkspace;  // most scratch that the framework grants one convolution
  bool inference = false;
  // A convolution with a tensor beyond the library's indices is divided along the batch (model/cost/library_limits.h).
  // False: the library refuses it.
  bool divides_large_calls = false;
  // Each call waits for the one before: the host waits for an op's kernels before it issues the next op. As
  // framework_time, only where it is asked for.
  bool waits_for_calls = false;
  // Host time that the framework spends on every op, beside the driver's launch. Nothing takes it unless it is asked
  // for (`framework:` of a scenario, or of its runtime): the systems modelled are said to hide it, and so it is told
  // apart.
  Nanos framework_time = 0;
  const char* assumed_of_host = "";  // what is assumed of the two, in words; "": nothing
};
const std::vector<StepOptions>& StepOptionTable();              // "plain", "chainer", "torch", ...
const StepOptions& StepOptionsByName(const std::string& name);  // UserError with the nearest name

// REQUIRES: InferShapes(network) succeeded. UserError: options that cannot train it (update_at_once).
TrainingStep BuildTrainingStep(const Network& network, const StepOptions& options = {});

}  // namespace spillway

#endif  // SPILLWAY_MODEL_UNROLL_UNROLL_H_
