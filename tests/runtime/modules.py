"""Small modules in the shape that the emitter gives them: one dispatch and the host's ``main``."""

from __future__ import annotations


def module(body: str, dtype: str, size: int, *, translation: str = "") -> str:
    """A kernel ``@k`` of one workgroup: reads ``%a``, writes ``%c``, ``size`` elements each."""
    info = f"<pipeline = #iree_codegen.no_pipeline{translation}>"
    memory, tensor = f"memref<{size}x{dtype}>", f"tensor<{size}x{dtype}>"
    return f"""
module {{
  stream.executable private @k {{
    stream.executable.export public @k workgroups() -> (index, index, index) {{
      %one = arith.constant 1 : index
      stream.return %one, %one, %one : index, index, index
    }}
    builtin.module {{
      func.func @k(%b0: !stream.binding, %b1: !stream.binding) attributes {{
        translation_info = #iree_codegen.translation_info{info}
      }} {{
        %c0 = arith.constant 0 : index
        %a = stream.binding.subspan %b0[%c0] : !stream.binding -> {memory}
        %c = stream.binding.subspan %b1[%c0] : !stream.binding -> {memory}
        {body}
        return
      }}
    }}
  }}
  func.func @main(%a: {tensor}, %c: {tensor}) -> {tensor} {{
    %0 = flow.dispatch @k::@k(%a, %c) : ({tensor}, {tensor}) -> %c
    return %0 : {tensor}
  }}
}}
"""


def doubled(dtype: str, size: int = 16) -> str:
    """``c = a + a``, one vector of the whole size."""
    add = "arith.addf" if "f" in dtype else "arith.addi"
    return _whole_vector(f"%r = {add} %v, %v : vector<{size}x{dtype}>", dtype, size)


def accumulated(size: int = 16) -> str:
    """``c = c + a``: what calls leave in ``c`` shows how many ran, and on which memory."""
    vector = f"vector<{size}xf32>"
    body = f"""%w = vector.load %c[%c0] : memref<{size}xf32>, {vector}
        %r = arith.addf %v, %w : {vector}"""
    return _whole_vector(body, "f32", size)


def copied_bytes(size: int = 16) -> str:
    """``c = a``, bytes: what a kernel on booleans looks like from outside."""
    return _whole_vector("", "i8", size, result="%v")


def _whole_vector(body: str, dtype: str, size: int, *, result: str = "%r") -> str:
    vector, memory = f"vector<{size}x{dtype}>", f"memref<{size}x{dtype}>"
    lines = [
        f"%v = vector.load %a[%c0] : {memory}, {vector}",
        body,
        f"vector.store {result}, %c[%c0] : {memory}, {vector}",
    ]
    return module("\n        ".join(filter(None, lines)), dtype, size)


def wave_maximum(lanes: int) -> str:
    """The maximum of ``lanes`` numbers in every element of ``c``, by a butterfly of shuffles."""
    memory = f"memref<{lanes}xf32>"
    lines = [
        f"%w = arith.constant {lanes} : i32",
        "%id = gpu.thread_id x",
        f"%m1 = memref.load %a[%id] : {memory}",
    ]
    step = 1
    while step < lanes:
        lines += [
            f"%o{step} = arith.constant {step} : i32",
            f"%s{step}, %p{step} = gpu.shuffle xor %m{step}, %o{step}, %w : f32",
            f"%m{2 * step} = arith.maximumf %m{step}, %s{step} : f32",
        ]
        step *= 2
    lines.append(f"memref.store %m{step}, %c[%id] : {memory}")
    translation = f" workgroup_size = [{lanes}, 1, 1] subgroup_size = {lanes}"
    return module("\n        ".join(lines), "f32", lanes, translation=translation)


def through_shared_memory(lanes: int) -> str:
    """``c`` is ``a`` turned by one lane, by way of shared memory."""
    memory = f"memref<{lanes}xf32>"
    shared = f"memref<{lanes}xf32, #gpu.address_space<workgroup>>"
    lines = [
        f"%n = arith.constant {lanes} : index",
        "%one = arith.constant 1 : index",
        "%id = gpu.thread_id x",
        f"%s = memref.alloc() : {shared}",
        f"%v = memref.load %a[%id] : {memory}",
        f"memref.store %v, %s[%id] : {shared}",
        "gpu.barrier",
        "%next = arith.addi %id, %one : index",
        "%from = arith.remui %next, %n : index",
        f"%r = memref.load %s[%from] : {shared}",
        f"memref.store %r, %c[%id] : {memory}",
    ]
    translation = f" workgroup_size = [{lanes}, 1, 1] subgroup_size = 32"
    return module("\n        ".join(lines), "f32", lanes, translation=translation)
