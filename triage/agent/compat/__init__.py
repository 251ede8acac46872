"""Everything that touches private parts of torch: a function returns the feature, or `Missing(reason)`.

The rest of the agent asks here and never by `getattr` of its own, so what a torch release moves is found in one place.
"""

from .autocast import NothingLeftEntered, autocast_as_now, autocast_is_on, autocast_of, autocast_off
from .dynamo import (
    compile_id,
    compile_metrics,
    compile_phases,
    forget_compiles,
    frame_setter,
    graph_break_id,
    leave_log_files,
    leave_unnamed,
    pass_over,
    recompilations,
    recompile_limit,
    registered_backend,
    repro_input_reader,
    spelled_backend,
    stance_setter,
    standing_for,
    watch_frames,
    watch_recompiles,
    without_repro_copy,
)
from .feature import Feature, Missing
from .inductor import (
    compiler_parts,
    extension_builder,
    header_precompiler,
    inductor_phases,
    keep_headers_in,
    kernel_builder,
    report_output_strides,
    vec_isa_probe,
    without_graph_caches,
    workers_when_asked,
)
from .installed import (
    default_setting,
    home_of_torch,
    imported_when_named,
    loaded,
    may_use_accelerator,
    temporary_files_of_torch,
)
from .operators import (
    custom_op_definition,
    defined_by_torch,
    dispatcher_text,
    fake_call,
    fake_tensor_mode,
    known_operators,
    loaded_libraries,
    opcheck,
    operator_types,
    registered_at,
)
from .tensors import (
    address_of,
    base_of,
    copy_graph,
    copy_graph_deeply,
    dispatching,
    file_writer,
    flattened,
    hint_of,
    is_functional,
    is_higher_order,
    left_undone,
    tensors_in,
    tracing_modes_off,
    version_of,
)
