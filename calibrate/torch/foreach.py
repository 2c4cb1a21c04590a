"""Whether the optimizers of a step take lists of tensors (foreach) on a GPU, where a processor takes one by one."""

WITHOUT = "optimizer without foreach: "  # model/recorded/gpu_differences.cc asks for it


def why_without(group):
    """Of a parameter group; None: on a GPU it takes lists unless told otherwise."""
    if "foreach" not in group:
        return "no such option"
    if group["foreach"] is False:
        return "foreach=False"
    return next((name + "=True" for name in ("fused", "differentiable") if group.get(name)), None)


def foreach_notes(optimizers):
    """The note of a recording: nothing where any group of theirs may take lists."""
    whys = [(type(each).__name__, why_without(group)) for each in optimizers for group in each.param_groups]
    if not whys or any(why is None for _, why in whys):
        return []
    return [WITHOUT + ", ".join("%s (%s)" % pair for pair in dict.fromkeys(whys))]
