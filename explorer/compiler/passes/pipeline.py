"""The passes in order."""

from explorer.compiler.passes.base import Pass
from explorer.compiler.passes.decompose_reductions import decompose_reductions
from explorer.compiler.passes.expand import expand
from explorer.compiler.passes.form_parallel_loops import form_parallel_loops
from explorer.compiler.passes.infer_indices import infer_indices
from explorer.compiler.passes.infer_types import infer_types
from explorer.compiler.passes.keep_partials import keep_partials
from explorer.compiler.passes.prove_coverage import prove_coverage
from explorer.compiler.passes.recompute_in_loops import recompute_in_loops
from explorer.compiler.passes.remove_unused import remove_unused

PIPELINE: tuple[Pass, ...] = (
    infer_types,
    remove_unused,
    recompute_in_loops,
    form_parallel_loops,
    infer_indices,
    prove_coverage,
    expand,
    keep_partials,
    decompose_reductions,
)
"""What happens between the traced graph and emission."""
