"""cuda_toolchain and cuda_library: device code as reproducible objects for any list of GPU architectures.

    cuda_library(
        name = "kernels",
        srcs = ["kernels.cu"],
        hdrs = ["kernels.h"],
        architectures = ["sm_80", "sm_90", "sm_120"],
    )

The result is a C++ library (CcInfo): cc_library and cc_binary depend on it as on any other. It brings the static CUDA runtime, so that a DSO made from it
needs no libcudart.so. The same sources give the same object bytes in every folder; docs/gpu-runtime.md says what nvcc needs for that.
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain", "use_cpp_toolchain")
load("@rules_cc//cc:defs.bzl", "CcInfo", "cc_common")

CUDA_TOOLCHAIN_TYPE = Label("//bazel/toolchains:cuda_type")

CudaToolchainInfo = provider(
    doc = "A CUDA compiler.",
    fields = {
        "architectures": "list of GPU codes that it makes, such as sm_89.",
        "files": "depset of File: everything that a compile action reads.",
        "nvcc": "File: the compiler driver, inside its own tree.",
        "runtime": "CcInfo: headers and static library of the CUDA runtime.",
        "version": "the compiler's version.",
    },
)

CudaInfo = provider(
    doc = "Device code.",
    fields = {
        "architectures": "list of GPU codes in the objects.",
        "objects": "depset of File: one object for each source.",
    },
)

def _toolchain_impl(ctx):
    return [platform_common.ToolchainInfo(cuda = CudaToolchainInfo(
        architectures = ctx.attr.architectures,
        files = depset(transitive = [ctx.attr.compiler[DefaultInfo].files, ctx.attr.headers[DefaultInfo].files]),
        nvcc = ctx.file.nvcc,
        runtime = ctx.attr.runtime[CcInfo],
        version = ctx.attr.version,
    ))]

cuda_toolchain = rule(
    implementation = _toolchain_impl,
    doc = "A CUDA compiler for cuda_library. Toolchain type: //bazel/toolchains:cuda_type.",
    attrs = {
        "architectures": attr.string_list(mandatory = True, doc = "GPU codes that it makes."),
        "compiler": attr.label(mandatory = True, doc = "The compiler's programs."),
        "headers": attr.label(mandatory = True, doc = "Its headers, where nvcc looks for them."),
        "nvcc": attr.label(mandatory = True, allow_single_file = True, doc = "bin/nvcc."),
        "runtime": attr.label(mandatory = True, providers = [CcInfo], doc = "The CUDA runtime for host code."),
        "version": attr.string(mandatory = True, doc = "The compiler's version."),
    },
)

def architecture_problem(architectures, known):
    """Why a list of architectures cannot be compiled for, or "".

    Args:
      architectures: what a cuda_library asks for.
      known: what the toolchain makes.
    Returns:
      a sentence.
    """
    if not architectures:
        return "architectures is empty; name at least one of {}".format(", ".join(known))
    for name in architectures:
        if name not in known:
            return "{} is not an architecture of this CUDA compiler; it makes {}".format(name, ", ".join(known))
    if len({name: None for name in architectures}) != len(architectures):
        return "architectures names one twice: {}".format(", ".join(architectures))
    return ""

def nvcc_arguments(source, object, architectures, copts, compiler, includes, system_includes, defines):
    """Everything behind `nvcc`, as a list of strings.

    Args:
      source: path of the .cu file, relative to the execution root.
      object: path of the object.
      architectures: GPU codes.
      copts: the target's own options.
      compiler: the host compiler.
      includes: folders for -I.
      system_includes: folders for -isystem.
      defines: preprocessor definitions.
    Returns:
      the list.
    """
    words = ["-std=c++20", "-O3", "-DNDEBUG", "-ccbin", compiler]
    for name in architectures:
        words.append("-gencode=arch={},code={}".format(name.replace("sm_", "compute_"), name))

    # Without this the name of the module holds a hash of the absolute path of the source.
    words += ["-Xcudafe", "--orig_src_path_name=" + source]
    words += ["-Xcompiler", "-fPIC,-fvisibility=hidden,-fno-exceptions,-Wall"]
    words += ["-I" + folder for folder in includes]
    for folder in system_includes:
        words += ["-isystem", folder]
    words += ["-D" + define for define in defines]
    return words + copts + ["-c", source, "-o", object]

# --keep: names of intermediate files would otherwise hold the process id, and some of them end up in the object. The folder's own name does not.
_RUN = 'keep=$(mktemp -d) && trap \'rm -rf "$keep"\' EXIT && "$@" --keep --keep-dir "$keep"'

def _compile(ctx, cuda, cc_toolchain, context, source):
    object = ctx.actions.declare_file("_cuda/{}/{}.o".format(ctx.label.name, source.basename[:-len(".cu")]))
    arguments = nvcc_arguments(
        source = source.path,
        object = object.path,
        architectures = ctx.attr.architectures,
        copts = ctx.attr.copts,
        compiler = cc_toolchain.compiler_executable,
        includes = [folder or "." for folder in context.quote_includes.to_list() + context.includes.to_list()],
        system_includes = context.system_includes.to_list(),
        defines = context.defines.to_list() + ctx.attr.local_defines,
    )
    command = [cuda.nvcc.path] + arguments
    ctx.actions.run_shell(
        command = _RUN,
        arguments = command,
        inputs = depset([source] + ctx.files.hdrs, transitive = [cuda.files, cc_toolchain.all_files, context.headers]),
        outputs = [object],
        env = {"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
        mnemonic = "CudaCompile",
        progress_message = "Compiling %{input} for " + ", ".join(ctx.attr.architectures),
        toolchain = CUDA_TOOLCHAIN_TYPE,
    )
    record = ctx.actions.declare_file("_cuda/{}/{}.command.json".format(ctx.label.name, source.basename[:-len(".cu")]))
    ctx.actions.write(record, json.encode(command) + "\n")
    return object, record

def _library_impl(ctx):
    cuda = ctx.toolchains[CUDA_TOOLCHAIN_TYPE].cuda
    problem = architecture_problem(ctx.attr.architectures, cuda.architectures)
    if problem:
        fail("{}: {}".format(ctx.label, problem))
    cc_toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = cc_toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    infos = [dep[CcInfo] for dep in ctx.attr.deps] + [cuda.runtime]
    root = ctx.label.workspace_root
    own = CcInfo(compilation_context = cc_common.create_compilation_context(
        headers = depset(ctx.files.hdrs),
        quote_includes = depset([root or ".", ctx.bin_dir.path + ("/" + root if root else "")]),
    ))
    merged = cc_common.merge_cc_infos(direct_cc_infos = [own], cc_infos = infos)
    objects, records = [], []
    for source in ctx.files.srcs:
        object, record = _compile(ctx, cuda, cc_toolchain, merged.compilation_context, source)
        objects.append(object)
        records.append(record)
    outputs = cc_common.create_compilation_outputs(objects = depset(objects), pic_objects = depset(objects))
    linking, linked = cc_common.create_linking_context_from_compilation_outputs(
        actions = ctx.actions,
        name = ctx.label.name,
        feature_configuration = features,
        cc_toolchain = cc_toolchain,
        compilation_outputs = outputs,
        linking_contexts = [info.linking_context for info in infos],
        disallow_dynamic_library = True,
    )
    library = linked.library_to_link
    files = [file for file in [library.static_library, library.pic_static_library] if file]
    return [
        DefaultInfo(files = depset(files)),
        CcInfo(compilation_context = merged.compilation_context, linking_context = linking),
        CudaInfo(architectures = ctx.attr.architectures, objects = depset(objects)),
        OutputGroupInfo(cuda_commands = depset(records), cuda_objects = depset(objects)),
    ]

cuda_library = rule(
    implementation = _library_impl,
    doc = "Compiles .cu files for a list of GPU architectures into a C++ library.",
    attrs = {
        "architectures": attr.string_list(mandatory = True, doc = "GPU codes such as sm_89; an sm_80 code also runs on 8.6 and 8.9, an sm_90a code on 9.0 only."),
        "copts": attr.string_list(doc = "Further options of nvcc."),
        "deps": attr.label_list(providers = [CcInfo], doc = "C++ libraries whose headers the sources include."),
        "hdrs": attr.label_list(allow_files = [".h", ".cuh"], doc = "Headers."),
        "local_defines": attr.string_list(doc = "Preprocessor definitions of this target alone."),
        "srcs": attr.label_list(allow_files = [".cu"], mandatory = True, doc = "Sources, each its own action."),
    },
    provides = [CcInfo, CudaInfo],
    fragments = ["cpp"],
    toolchains = use_cpp_toolchain() + [CUDA_TOOLCHAIN_TYPE],
)
