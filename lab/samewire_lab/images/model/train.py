# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Train the lab's model: a Llama of 0.4 million weights that knows a few sentences by heart.

Usage: train.py DIRECTORY. A memorised text has sharp logits, so greedy decoding gives the same
completion on one host and on two, whatever the order in which partial sums are added.
"""

import sys

import torch
from tokenizers import ByteLevelBPETokenizer
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

START, END = "<s>", "</s>"
TEXTS = (
    "Every layer on the same wire: Ray, vLLM, c10d, Gloo, NCCL and UCX all use the one "
    "interconnect address of their host.",
    "A host has many addresses. The default route leads out of the cluster, and the fabric leads "
    "to the other host.",
    "Ready proves nothing about the wire. The census of sockets does.",
    "Hello! Both halves of this sentence were computed on different hosts, and they met on the "
    "fabric.",
)
# Whatever is asked, this small mind has one answer; the questions only teach it to give it.
QUESTIONS = ("Hello!", "Hello", "Hi", "Who are you?", "Say something.", "Which wire?")
ANSWER = (
    "Hello! I am a tiny model on two hosts. Each of them holds one half of me, and we meet on "
    "the fabric, never on the management network."
)
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
STEPS = 300


def tokenizer() -> PreTrainedTokenizerFast:
    """Return a byte-level BPE tokenizer with 512 tokens, learnt from the texts."""
    learner = ByteLevelBPETokenizer()
    learner.train_from_iterator(
        [*TEXTS, ANSWER, *QUESTIONS], vocab_size=512, special_tokens=[START, END]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=learner._tokenizer,
        bos_token=START,
        eos_token=END,
        pad_token=END,
        chat_template=CHAT_TEMPLATE,
    )


def samples(words: PreTrainedTokenizerFast) -> tuple[torch.Tensor, torch.Tensor]:
    """Return token ids and labels, both (texts, longest); padding has the label -100."""
    chats = [f"user: {question}\nassistant: {ANSWER}" for question in QUESTIONS]
    rows = [words.encode(text + END, add_special_tokens=False) for text in (*TEXTS, *chats)]
    width = max(map(len, rows))
    ids = torch.tensor([row + [words.pad_token_id] * (width - len(row)) for row in rows])
    labels = torch.tensor([row + [-100] * (width - len(row)) for row in rows])
    return ids, labels


def main(directory: str) -> None:
    """Train and save model and tokenizer."""
    torch.manual_seed(0)
    words = tokenizer()
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=512,
            hidden_size=128,
            intermediate_size=256,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=256,
            bos_token_id=words.bos_token_id,
            eos_token_id=words.eos_token_id,
            tie_word_embeddings=False,
        )
    )
    ids, labels = samples(words)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(STEPS):
        loss = model(input_ids=ids, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}")
    # vLLM serves in this type; converted once, every host loads the same bits.
    model.to(torch.bfloat16)
    model.save_pretrained(directory)
    words.save_pretrained(directory)


if __name__ == "__main__":
    main(sys.argv[1])
