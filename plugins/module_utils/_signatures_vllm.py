# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Faults of vLLM and of the model it is given."""

from __future__ import annotations

from ._signatures import CAUSE, HINT, LIKELY, SYMPTOM, Rule, Signature

RULES = (
    Rule(
        id="broken_python_environment",
        layer="vllm",
        role=CAUSE,
        cause="The image's Python lacks a module, or has one that does not fit the others.",
        remedy="Repair the image: the first ImportError names the package. Stock vLLM images of late have "
        "no Ray; use one that has.",
        variable="container_image_name",
        link="https://github.com/vllm-project/vllm/issues/9624",
        signatures=(
            Signature("modulenotfounderror: no module named", strength=LIKELY),
            Signature("importerror:", r"importerror: (?!.*libcuda\.so)", LIKELY),
            Signature("failed to import ray"),
            Signature("ray is not installed"),
            Signature("ray: ", r"\bray: (?:command )?not found"),
            Signature("executable file not found in $path", r"ray|vllm|python"),
            Signature("command not found", r"\b(?:ray|vllm|python3?): command not found"),
            Signature("model architectures", r"failed to be inspected"),
            Signature("glibcxx", r"version .*GLIBCXX.* not found"),
            Signature(
                "numpy", r"compiled using numpy 1\.x cannot be run|numpy\.core\.multiarray failed"
            ),
            Signature("versionconflict", strength=LIKELY),
            Signature("packagenotfounderror"),
            Signature("no package metadata was found"),
            Signature("ray compiled graph is not installed"),
            Signature("cupy is not installed"),
            Signature("attributeerror: partially initialized module", strength=LIKELY),
        ),
        explains=("model_architecture_unsupported",),
    ),
    Rule(
        id="model_architecture_unsupported",
        layer="model",
        role=CAUSE,
        cause="The checkpoint names an architecture that this vLLM or its transformers does not know.",
        remedy="Use a newer vLLM image, or correct `architectures` in the model's config.json.",
        variable="container_image_name",
        link="https://docs.vllm.ai/en/latest/models/supported_models/",
        signatures=(
            Signature("are not supported for now"),
            Signature("does not recognize this architecture"),
            Signature("has no vllm implementation", r"not compatible"),
            Signature("has no vllm implementation", strength=HINT),
            Signature("is not a registered model in the transformers library"),
            Signature("cannot find model module"),
            Signature("unrecognized configuration class"),
            Signature("unrecognized model in"),
            Signature(
                "keyerror:",
                r"KeyError: '\w*(?:qwen|llama|glm|deepseek|gemma|mistral|phi|gpt|kimi|minimax)\w*'",
                LIKELY,
            ),
            Signature("model architecture", r"(?:not|n't) supported|was supported in vllm until"),
            Signature("is not supported in-tree anymore"),
            Signature(
                "not supported",
                r"model (?:type|class|arch\w*) ['\"]?[\w.-]+['\"]? (?:is )?not supported",
            ),
        ),
    ),
    Rule(
        id="model_path_missing_on_worker",
        layer="model",
        role=CAUSE,
        cause="The model is not where a process looks for it: not on that host, not mounted, or not in its "
        "offline cache.",
        remedy="Put the model under the same absolute path on all hosts and mount it into all containers, "
        "or fill the hub cache of every host.",
        variable="vllm_server_model",
        link="https://github.com/gpustack/gpustack/issues/1268",
        signatures=(
            Signature("hfvalidationerror"),
            Signature("repo id must be in the form"),
            Signature("repo id must use alphanumeric"),
            Signature("incorrect path_or_model_id"),
            Signature(
                "is not a local folder", r"not a valid model identifier|valid repository name"
            ),
            Signature("cannot find any model weights"),
            Signature("invalid repository id or local directory"),
            Signature("does not appear to have a file named"),
            Signature("can't load the configuration of"),
            Signature("can't load tokenizer for"),
            Signature("could not detect config format"),
            Signature("no config file found"),
            Signature(
                "no such file or directory",
                r"(?:error|errno 2).*(?:/models?/|models--|huggingface|safetensors|config\.json|tokenizer|"
                r"snapshots/|\.bin\b|\.gguf)",
            ),
            Signature("does not exist", r"(?:model|checkpoint|weights?)\b.{0,60}\bdoes not exist"),
            Signature("localentrynotfounderror", strength=LIKELY),
            Signature("outgoing traffic has been disabled", strength=LIKELY),
            Signature("offline mode is enabled", strength=LIKELY),
            Signature("cannot find the requested files in the", strength=LIKELY),
            Signature("cannot find an appropriate cached snapshot folder", strength=LIKELY),
            Signature("couldn't connect to", r"huggingface\.co.* to load", LIKELY),
            Signature(
                "safetensors",
                r"(?:not found|no such file|missing|invalidheader|incomplete)",
                LIKELY,
            ),
        ),
    ),
    Rule(
        id="hf_gated_unauthorized",
        layer="model",
        role=CAUSE,
        cause="The hub refuses the model: it is gated or private, and no valid token is given.",
        remedy="Accept the licence of the model, set HF_TOKEN in the containers of every host, or download "
        "the model before.",
        variable="HF_TOKEN",
        link="https://huggingface.co/docs/hub/models-gated",
        signatures=(
            Signature("gatedrepoerror"),
            Signature("cannot access gated repo"),
            Signature("trying to access a gated repo"),
            Signature("is a gated repository"),
            Signature("is gated. you must"),
            Signature("access to model", r"is restricted"),
            Signature("is restricted and you are not in the authorized list"),
            Signature("client error", r"\b(?:401|403)\b.*(?:huggingface|hf\.co)"),
            Signature("client error", r"\b(?:401|403) client error"),
            Signature("repositorynotfounderror"),
            Signature("invalid user token"),
            Signature("invalid username or password"),
            Signature("you must have access to it and be authenticated"),
        ),
        explains=("model_path_missing_on_worker",),
    ),
    Rule(
        id="tp_size_not_dividing_heads",
        layer="vllm",
        role=CAUSE,
        cause="The tensor-parallel size does not divide a dimension of the model.",
        remedy="Choose a tensor-parallel size that divides the number of heads, and spread over more hosts "
        "with pipeline parallelism.",
        variable="vllm_server_tensor_parallel_size",
        link="https://github.com/vllm-project/vllm/blob/main/vllm/config/model.py",
        signatures=(
            Signature("must be divisible by", r"tensor.?parallel|tp_size|\btp\b|heads"),
            Signature("divisible by tensor"),
            Signature("is not divisible by", r"^(?!.*(?:remote tensor|falling back))"),
            Signature(
                "not divisible",
                r"^(?!.*falling back).*(?:heads|tensor.?parallel|vocab|intermediate)",
            ),
            Signature("% tp_size ==", r"assert|heads"),
            Signature("evenly divisible", r"tensor.?parallel|heads"),
        ),
    ),
    Rule(
        id="kv_cache_too_small",
        layer="vllm",
        role=CAUSE,
        cause="What the weights leave of the GPU memory does not hold the KV cache of one full context.",
        remedy="Lower --max-model-len below the figure in the message, raise --gpu-memory-utilization, or "
        "spread the model over more GPUs.",
        variable="vllm_server_extra_args",
        link="https://docs.vllm.ai/en/latest/configuration/conserving_memory/",
        signatures=(
            Signature("tokens that can be stored in kv cache"),
            Signature("no available memory for the cache blocks"),
            Signature("is larger than the available kv cache memory"),
            Signature("to serve at least one request with the model"),
            Signature("cannot auto-fit max_model_len"),
            Signature("available kv cache memory", r"negative|-\d+(?:\.\d+)? gib"),
            Signature("kv cache", r"(?:too small|not enough (?:memory|space|gpu)|insufficient)"),
        ),
    ),
    Rule(
        id="gpu_memory_not_free",
        layer="vllm",
        role=CAUSE,
        cause="The GPU has less free memory than the server is told to take.",
        remedy="Stop other GPU programs (an old server too), or lower --gpu-memory-utilization.",
        variable="vllm_server_extra_args",
        link="https://github.com/pytorch/pytorch/issues/175666",
        signatures=(
            Signature("free memory on device", r"on startup is\s+less than", lines=2),
            Signature("is less than desired", r"memory utilization"),
            Signature("error in memory profiling"),
            Signature("cuda out of memory", strength=LIKELY, without=("unified_memory",)),
            Signature(
                "outofmemoryerror", r"torch\S*OutOfMemoryError", LIKELY, without=("unified_memory",)
            ),
            Signature("cuda error: out of memory", strength=LIKELY, without=("unified_memory",)),
            Signature("cuda_error_out_of_memory", strength=LIKELY, without=("unified_memory",)),
        ),
    ),
    Rule(
        id="vllm_startup_deadlock",
        layer="vllm",
        role=SYMPTOM,
        cause="The ranks wait for each other while vLLM starts, although they can reach each other.",
        remedy="Check that VLLM_HOST_IP is set in the Ray container of every host; otherwise try another "
        "release of vLLM.",
        variable="VLLM_HOST_IP",
        link="https://github.com/vllm-project/vllm/issues/52907",
        signatures=(
            Signature("diststoreerror", r"wait timeout after \d+ms, keys"),
            Signature("wait timeout after", r"keys?:"),
            Signature("waitforinput", r"timed out after"),
            Signature("in_the_same_node_as", strength=LIKELY),
            Signature("no available shared memory broadcast block found", strength=HINT),
            Signature("no available block found in", strength=HINT),
            Signature("timed out waiting for engine", strength=LIKELY),
            Signature(
                "did not", r"engine core\w* .*did not (?:start|become ready|complete)", LIKELY
            ),
            Signature("deadlock", r"startup|start-up|barrier|initiali", HINT),
            Signature("startup", r"handshake.*timed out|timed out.*startup", LIKELY),
            # The sentence of the collection's own wait, with where each rank stands in the next line.
            Signature("vllm does not start: no progress for", lines=2, strength=LIKELY),
        ),
        explains=("collective_timeout",),
    ),
    Rule(
        id="vllm_regression",
        layer="vllm",
        role=CAUSE,
        cause="This release of vLLM has a fault of its own.",
        remedy="Use a release with the fix, or the one before; the link names the change.",
        variable="container_image_name",
        link="https://github.com/vllm-project/vllm/pull/28873",
        signatures=(
            Signature("less than or equal to the number of visible devices"),
            Signature("world_size", r"local_world_size \(\d+\)"),
            Signature("is less than than max local gpu count"),
            Signature("dp adjusted local rank", r"out of\s+bounds"),
            Signature("collective_rpc should not be called on follower node"),
            Signature(
                "typeerror:", r"got an unexpected keyword argument|missing \d+ required", HINT
            ),
            Signature("attributeerror:", r"object has no attribute", HINT),
            Signature("unboundlocalerror", strength=HINT),
        ),
    ),
)
