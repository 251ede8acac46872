"""Failures under torch.compile that are no bug of the compiler: what each is, what to do, where it is written. Data.

A row is as narrow as its evidence: the type of the exception and its text, the stage where that decides, and what must not
stand in the text. A failure that no row names may be a bug; one that a row names is none.
"""

from __future__ import annotations

from dataclasses import dataclass

from triage.model.stage import COMPILER_STAGES, OutcomeKind, Stage

DOCS = "https://docs.pytorch.org/docs/stable"
ISSUES = "https://github.com/pytorch/pytorch/issues"
_GRAPH_BREAKS = f"{DOCS}/compile/programming_model.fullgraph_true.html"
# Where torch itself asks for a report, the failure may be its own.
_ASKS_FOR_A_REPORT = r"report an issue to PyTorch|likely to be a Dynamo bug"
# Graph breaks that wrap what an operator raised: that may be a bug of the operator's.
_WRAPS_AN_ERROR = (
    r"\A(?:Fake tensor propagation exception|\w+(?:/\w+)? when (?:making fake tensor call|running FX node))"
)


@dataclass(frozen=True)
class CureStatement:
    """A line that is the whole cure, and the module that it needs. It goes below the imports of the main script.

    `above_compile`: above the uses of torch.compile instead, where the program itself may undo it before.
    """

    text: str
    module: str
    above_compile: bool = False


@dataclass(frozen=True)
class Row:
    """`types` are class names without module (empty: any), `says` is searched in the text; all that is given must hold.

    `through` is searched in the names of the files that a traceback goes through. `statement` is for a cure that is one line,
    the same in every program; it is tried on the script. `environment` says that the cause lies in the machine: whatever is
    built there fails, and no line, operation or part of the compiler is to blame. `outside_graph`: that it lies in when and how
    the program calls what is compiled, so that no graph fails by itself.
    """

    id: str
    types: tuple[str, ...]
    says: str
    explanation: str
    cure: str
    reference: str
    unless: str = ""
    through: str = ""
    stages: tuple[Stage, ...] = ()  # empty: any
    fullgraph: bool = False  # a call of torch.compile asked for it
    kinds: tuple[OutcomeKind, ...] = (OutcomeKind.EXCEPTION,)
    statement: CureStatement | None = None
    environment: bool = False
    outside_graph: bool = False


TABLE: tuple[Row, ...] = (
    Row(
        "no_cxx_compiler",
        ("InvalidCxxCompiler",),
        r"No working C\+\+ compiler found|Compiler: .* is not found",
        "There is no C++ compiler where torch looks for one ($CXX, else g++; cl on Windows), and Inductor builds its CPU "
        "kernels with it.",
        "Install g++ (or clang, or MSVC's cl) or point CXX at one; `triage doctor` checks it.",
        f"{ISSUES}/92745",
        environment=True,
    ),
    Row(
        "no_cxx_compiler",
        ("FileNotFoundError",),
        r"No such file or directory: '(?:[^']*/)?(?:g\+\+|gcc|cc|c\+\+|clang(?:\+\+)?|cl)(?:-[\d.]+)?'",
        "The C or C++ compiler that torch starts is not there, and Inductor builds its kernels with it.",
        "Install g++ or point CXX (for Triton CC) at a compiler that exists; `triage doctor` checks it.",
        f"{ISSUES}/92745",
        stages=(Stage.INDUCTOR,),
        environment=True,
    ),
    Row(
        "no_python_headers",
        ("CppCompileError", "CalledProcessError"),
        r"Python\.h: No such file or directory|'Python\.h' file not found|Cannot open include file: 'Python\.h'",
        "The compiler does not find Python.h: the headers of this Python are not installed.",
        "Install them (python3-dev on Debian and Ubuntu, python3-devel on Fedora), or use a Python that brings them.",
        f"{ISSUES}/129351",
        environment=True,
    ),
    Row(
        "python_not_supported",
        ("RuntimeError",),
        r"(?:Dynamo|torch\.compile) is not supported on Python|Python 3\.\d+\+ not yet supported for torch\.compile",
        "This torch is older than this Python: it refuses to compile under it.",
        "Use an older Python or a newer torch; where nothing can be changed, leave torch.compile out.",
        f"{ISSUES}/144048",
        environment=True,
    ),
    Row(
        "triton_missing",
        ("TritonMissing", "RuntimeError"),
        r"\ACannot find a working triton installation",
        "Inductor writes its GPU kernels in Triton, and Triton is not installed or too old for this torch.",
        "Install the Triton that belongs to this torch (`pip install triton`; on Windows triton-windows).",
        f"{ISSUES}/125093",
        environment=True,
    ),
    Row(
        "gpu_too_old",
        ("GPUTooOldForTriton", "RuntimeError"),
        r"which is too old to be supported by the triton GPU compiler",
        "The GPU is too old for Triton, with which Inductor compiles for GPUs: it asks for CUDA capability 7.0 at least.",
        'Run without torch.compile, or with backend="aot_eager" or "cudagraphs", or use a newer GPU.',
        "https://github.com/MIC-DKFZ/nnUNet/issues/2188",
        environment=True,
    ),
    Row(
        "no_c_compiler",
        ("RuntimeError",),
        r"\AFailed to find C compiler",
        "Triton builds what launches its kernels with a C compiler, and finds none ($CC, else gcc or clang).",
        "Install gcc (or clang) or point CC at one.",
        "https://github.com/MIC-DKFZ/nnUNet/issues/2268",
        environment=True,
    ),
    Row(
        "no_libcuda",
        ("AssertionError", "CalledProcessError"),
        r"\Alibcuda\.so cannot found|cannot find -lcuda\b",
        "Triton does not find libcuda.so, the library of the GPU's driver, and links with it what launches its kernels.",
        "Have the driver's library found: `ldconfig`, or TRITON_LIBCUDA_PATH with the directory that has libcuda.so.1.",
        f"{ISSUES}/107960",
        environment=True,
    ),
    Row(
        "ptxas_too_old",
        ("PTXASError", "RuntimeError"),
        r"Value 'sm_\w+' is not defined for option 'gpu-name'",
        "The assembler that Triton brings (ptxas) is older than this GPU and does not know it.",
        "Use a newer torch with its Triton, or point TRITON_PTXAS_PATH at the ptxas of a newer CUDA.",
        "https://github.com/triton-lang/triton/issues/8539",
        environment=True,
    ),
    Row(
        "no_kernel_image",
        ("AcceleratorError", "RuntimeError"),
        r"CUDA error: no kernel image is available for execution on the device",
        "This torch, or an extension, was built without kernels for this GPU: it is older or newer than those it was built for.",
        "Install a build of torch for this GPU (torch.cuda.get_arch_list() has what this one is for), and build extensions "
        "for it.",
        f"{ISSUES}/54053",
        environment=True,
    ),
    Row(
        "warnings_are_errors",
        (
            "DeprecationWarning",
            "FutureWarning",
            "UserWarning",
            "PendingDeprecationWarning",
            "RuntimeWarning",
            "SyntaxWarning",
            "ResourceWarning",
            "TracerWarning",
            "Warning",
        ),
        r"\S",  # that a warning is raised at all says it
        "The program turns warnings into errors (`warnings.simplefilter`, `-W error`, pytest's `filterwarnings`), and torch "
        "warns while it compiles.",
        'Let torch\'s own warnings pass, behind the line that makes them errors: `warnings.filterwarnings("default", '
        'module="torch")`, in pytest `filterwarnings = ["error", "default:::torch"]`.',
        "https://docs.python.org/3/library/warnings.html#the-warnings-filter",
        stages=COMPILER_STAGES,
        statement=CureStatement('warnings.filterwarnings("default", module="torch")', "warnings", above_compile=True),
    ),
    Row(
        "orig_mod_keys",
        ("RuntimeError",),
        r"\AError\(s\) in loading state_dict[\s\S]*_orig_mod\.",
        "The checkpoint's keys and the model's differ by `_orig_mod.`: a model that torch.compile returns puts it before the "
        "names of its parameters.",
        "Compile in place with `model.compile()`, or save and load the state_dict of the model that was compiled "
        '(`compiled._orig_mod`); for an old checkpoint take "_orig_mod." out of its keys.',
        f"{ISSUES}/101107",
    ),
    Row(
        "local_rank_spelling",
        ("SystemExit", "ArgumentError", ""),
        r"unrecognized arguments:.*--local-rank\b|arguments are required:.*--local_rank\b",
        "The script's parser wants `--local_rank`, and the launcher does not give it: torch.distributed.launch writes "
        "`--local-rank` since torch 2.0, torchrun only sets LOCAL_RANK.",
        'Read os.environ["LOCAL_RANK"] and start with torchrun, or declare both: '
        'add_argument("--local-rank", "--local_rank", type=int).',
        f"{DOCS}/distributed.html#launch-utility",
        kinds=(OutcomeKind.EXCEPTION, OutcomeKind.CRASH),
    ),
    Row(
        "recompile_limit",
        ("FailOnRecompileLimitHit", "Unsupported"),
        r"Hard failure due to fullgraph=True|(?:recompile_limit|cache_size_limit) reached with|"
        r"Dynamo (?:recompile|cache) limit exceeded",
        "The function was compiled anew until the limit was reached (config.recompile_limit, in older torch cache_size_limit), "
        "and with fullgraph=True that is an error.",
        "Run with TORCH_LOGS=recompiles to see what changes from call to call; pass it as a tensor, use dynamic=True or "
        "mark_dynamic for sizes, or raise torch._dynamo.config.recompile_limit where so many variants are wanted.",
        f"{DOCS}/compile/programming_model.recompilation.html",
        unless=_ASKS_FOR_A_REPORT,
    ),
    Row(
        "data_dependent_branch",
        ("Unsupported", "UserError"),
        r"\AData-dependent (?:branching|assertion failed)|\ADynamic control flow is not supported|"
        r"\Ageneric_jump TensorVariable",
        "The program branches on the value of a tensor, which is not known while it is compiled, and fullgraph=True forbids to "
        "leave the graph there.",
        "Use torch.where or torch.cond in the place of `if`, move the branch out of the compiled function, or drop "
        "fullgraph=True.",
        "https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0170.html",
        unless=_ASKS_FOR_A_REPORT,
        stages=(Stage.DYNAMO,),
        fullgraph=True,
    ),
    Row(
        "data_dependent_size",
        ("GuardOnDataDependentSymNode", "UserError"),
        # The frame is that of a comparison in the program itself; from a decomposition of torch's it may be a bug.
        r"Could not guard on data-dependent expression[\s\S]*\(_dynamo/variables/\w+\.py:\d+ in evaluate_expr\)",
        "A size or number that comes out of a tensor (`item`, `tolist`, `nonzero`) decides something, and it is not known while "
        "the program is compiled.",
        "Tell the compiler what holds with torch._check(...), or take the decision out of the compiled function.",
        f"{DOCS}/user_guide/torch_compiler/compile/dynamic_shapes_troubleshooting_guardon_errors.html",
        unless=_ASKS_FOR_A_REPORT,
        stages=(Stage.DYNAMO,),
        fullgraph=True,
    ),
    Row(
        "no_fake_kernel",
        (),
        r"There was no (?:fake|abstract) impl registered for|"
        r"(?:\AOperator does not support running with fake tensors[\s\S]*|\A)"  # 2.7 and newer; before, its second line alone
        r"unsupported operator: (?!aten\.|prims\.|_c10d)",
        "The program's custom operator has no fake kernel, so the compiler cannot know the shape and dtype of what it returns.",
        "Register one that returns an empty tensor of the right shape and dtype: "
        '`@torch.library.register_fake("ns::name")`, or `.register_fake` of the operator; before torch 2.4 '
        '`library.impl("name", function, "Meta")`.',
        "https://docs.pytorch.org/tutorials/advanced/python_custom_ops_functional.html",
        stages=COMPILER_STAGES,
    ),
    Row(
        "graph_break_fullgraph",
        ("Unsupported", "UserError"),
        r"\ACall to `torch\._dynamo\.graph_break\(\)`|\ASkip (?:calling|inlining) `torch\.compiler\.disable\(\)`d function|"
        r"\AUnsupported Tensor\.item\(\) call|\A(?:Dynamic shape|Data dependent) operator\n|This graph break is fundamental|"
        r"\ATensor\.item(?:\n|\Z)|\A(?:dynamic shape|data dependent) operator: ",  # before 2.7
        "The program does something that no graph can hold, and fullgraph=True forbids to leave the graph there.",
        "Take it out of the compiled function, follow the hint in the error, or drop fullgraph=True.",
        _GRAPH_BREAKS,
        unless=f"{_ASKS_FOR_A_REPORT}|{_WRAPS_AN_ERROR}",
        stages=(Stage.DYNAMO,),
        fullgraph=True,
    ),
    Row(
        "graph_break_fullgraph",  # torch asks for a report, as for every builtin that it does not know
        ("Unsupported",),
        r"\AFailed to trace builtin operator\n[^\n]*builtin operator `print`",
        "The program prints, which no graph can hold, and fullgraph=True forbids to leave the graph there.",
        "Take it out of the compiled function, let `print` wait until the graph has run "
        "(`torch._dynamo.config.reorderable_logging_functions.add(print)`), or drop fullgraph=True.",
        _GRAPH_BREAKS,
        stages=(Stage.DYNAMO,),
        fullgraph=True,
        statement=CureStatement(
            "torch._dynamo.config.reorderable_logging_functions.add(print)", "torch._dynamo.config"
        ),
    ),
    Row(
        "graph_break_fullgraph",
        ("Unsupported",),
        r"\AFailed to trace builtin operator\n[^\n]*builtin operator `(?:input|breakpoint)`",
        "The program waits for the person who runs it (`input`, `breakpoint`), which no graph can hold, and "
        "fullgraph=True forbids to leave the graph there.",
        "Take it out of the compiled function, or drop fullgraph=True.",
        _GRAPH_BREAKS,
        stages=(Stage.DYNAMO,),
        fullgraph=True,
    ),
    Row(
        "cuda_after_fork",
        ("RuntimeError", "DeferredCudaCallError"),
        r"Cannot re-initialize CUDA in forked subprocess",
        "CUDA was in use before the process was forked, and it does not work in a forked process.",
        'Start processes with "spawn" or "forkserver" (multiprocessing.set_start_method, multiprocessing_context of a '
        "DataLoader), or leave CUDA alone until after the fork.",
        f"{DOCS}/notes/multiprocessing.html",
    ),
    Row(
        "unknown_backend",
        ("InvalidBackend",),
        r"Invalid backend: ",
        "torch.compile was given the name of a backend that is not registered.",
        "Correct the name (torch.compiler.list_backends() lists them), or import the package that registers it.",
        f"{DOCS}/generated/torch.compile.html",
    ),
    Row(
        "donated_buffers",
        ("RuntimeError",),
        r"This backward function was compiled with non-empty donated buffers",
        "A compiled backward reuses the memory of what forward saved (donated buffers), so its graph cannot be kept with "
        "retain_graph=True or create_graph=True.",
        "With retain_graph=True: sum the losses and go back once, or set torch._functorch.config.donated_buffer = False. With "
        "create_graph=True: leave uncompiled what is gone back through twice; AOTAutograd has no double backward.",
        "https://github.com/pytorch/pytorch/pull/130580",
        statement=CureStatement("torch._functorch.config.donated_buffer = False", "torch._functorch.config"),
    ),
    Row(
        "cudagraph_output_overwritten",
        ("RuntimeError",),
        r"accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run",
        "With CUDA graphs each run writes its results into the same memory, and the program reads those of an earlier run.",
        "Clone what is kept outside of the compiled function, or do without CUDA graphs "
        '(no mode="reduce-overhead"); torch.compiler.cudagraph_mark_step_begin() tells where an iteration begins.',
        f"{DOCS}/torch.compiler_cudagraph_trees.html",
        outside_graph=True,
    ),
    Row(
        "cudagraph_operator_waits",
        (),
        r"CUDA error: operation not permitted when stream is capturing",
        "A custom operator waits for the GPU (`item`, `cpu`, a print) while its call is recorded into a CUDA graph, which can "
        "hold no such thing; Inductor does not see inside of it.",
        "Give the operator the tag torch.Tag.cudagraph_unsafe, which keeps it out of the recording, or let it do without "
        'waiting, or do without CUDA graphs (no mode="reduce-overhead").',
        f"{DOCS}/torch.compiler_cudagraph_trees.html",
        through=r"\btorch/_library/custom_ops\.py$",
    ),
    Row(
        "compiled_while_recorded",
        (),
        r"during CUDA graph capture|due to a previous error during capture|not permitted when stream is capturing",
        "The first call of what torch.compile gave comes while the program records a CUDA graph, and the compiler does things on "
        "the GPU (it copies, measures and waits) that no such graph can hold.",
        "Call it a few times with inputs of that kind before the recording, on another stream as for each CUDA graph, or leave "
        'the recording to torch.compile (mode="reduce-overhead").',
        f"{DOCS}/notes/cuda.html#cuda-graphs",
        through=r"\btorch/_dynamo/convert_frame\.py$",
        outside_graph=True,
    ),
    Row(
        "cache_not_writable",
        ("PermissionError", "OSError"),
        r"(?:\[Errno 13\] Permission denied|\[Errno 30\] Read-only file system)[^\n]*(?:torchinductor|[Tt]riton|inductor)",
        "Inductor cannot write its cache: the directory belongs to somebody else or is read-only.",
        "Point TORCHINDUCTOR_CACHE_DIR (and TRITON_CACHE_DIR) at a directory that this user can write.",
        "https://github.com/pytorch/torchdynamo/issues/2004",
        stages=COMPILER_STAGES,
        environment=True,
    ),
    Row(
        "disk_full",
        ("OSError",),
        r"\[Errno (?:28|122)\] (?:No space left on device|Disk quota exceeded)",
        "The disk is full, or the quota is used up, and the compiler keeps its kernels on it.",
        "Make room, or point TORCHINDUCTOR_CACHE_DIR and TMPDIR at a disk that has some.",
        "https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_tutorial.html",
        environment=True,
    ),
    Row(
        "inference_tensor",
        ("RuntimeError",),
        r"Inplace update to inference tensor outside InferenceMode is not allowed|"
        r"Inference tensors cannot be saved for backward",
        "A tensor made under torch.inference_mode() is used where autograd is on; it cannot be changed or differentiated there.",
        "Make it under torch.no_grad(), or work on a clone of it.",
        f"{DOCS}/notes/autograd.html#inference-mode",
        stages=(Stage.SCRIPT,),
    ),
    Row(
        "backward_twice",
        ("RuntimeError",),
        r"Trying to backward through the graph a second time",
        "The program goes back through one graph twice, and autograd frees what it saved after the first time.",
        "Compute the loss anew for each backward, detach what is carried over between steps, or pass retain_graph=True.",
        f"{DOCS}/generated/torch.Tensor.backward.html",
        stages=(Stage.SCRIPT,),
    ),
    Row(
        "different_devices",
        ("RuntimeError",),
        r"Expected all tensors to be on the same device|Tensor on device \S+ is not on the expected device|"
        r"Input type \(.*\) and weight type \(.*\) should be the same",
        "The tensors of one operation lie on different devices or have different types, compiled or not.",
        "Move the model and its inputs to one device and dtype (`.to(device)`) before they meet.",
        f"{DOCS}/generated/torch.Tensor.to.html",
        stages=(Stage.SCRIPT,),
    ),
    Row(
        "different_dtypes",
        ("RuntimeError",),
        r"expected (?:m1 and m2|mat1 and mat2|scalar type \w+ but found \w+|both .*) ?(?:to have the same dtype)?",
        "The tensors of one operation have different dtypes, compiled or not.",
        "Convert one of them (`.to(dtype)`), or run under torch.autocast.",
        f"{DOCS}/generated/torch.Tensor.to.html",
        stages=(Stage.SCRIPT,),
    ),
    Row(
        "out_of_memory",
        (),
        r"",
        "The script needs more memory than there is, without torch.compile as well.",
        "Take a smaller batch or model, free what is held, or use a machine with more memory.",
        f"{DOCS}/notes/faq.html",
        stages=(Stage.SCRIPT,),
        kinds=(OutcomeKind.OOM,),
    ),
    Row(
        "compiler_killed",
        ("CppCompileError", "CalledProcessError"),
        r"Killed signal terminated program|virtual memory exhausted|out of memory allocating \d+ bytes",
        "The C++ compiler was ended for want of memory: Inductor starts as many of them as there are cores.",
        "Compile with fewer processes (TORCHINDUCTOR_COMPILE_THREADS=1), or give the machine more memory.",
        f"{DOCS}/torch.compiler_faq.html",
        stages=(Stage.INDUCTOR,),
        environment=True,
    ),
)
