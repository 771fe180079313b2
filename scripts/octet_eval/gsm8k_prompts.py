"""Prompts of the gsm8k tasks, character for character those of lm-evaluation-harness, and the manifest that says how
they were made: which examples, which data, which hash each prompt has."""
import json
import pathlib
import random
from dataclasses import dataclass

from octet_eval.files import EvalError, read_jsonl, sha256_of_file, sha256_of_text

BOS, EOS, USER, ASSISTANT = "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>"
HARNESS_STOPS = ("</s>", "<|im_end|>")
FORMAT = "octet gsm8k manifest 1"


@dataclass(frozen=True)
class Task:
    question: str
    stops: tuple
    fewshot: str  # how examples are chosen unless told otherwise


TASKS = {
    "gsm8k": Task("Question: {}\nAnswer:", ("Question:", *HARNESS_STOPS), "random"),
    "gsm8k_cot": Task("Q: {}\nA:", ("Q:", *HARNESS_STOPS), "first"),
    "plain": Task("{}", (), "first"),  # the question alone, for models trained on that
}


@dataclass
class Recipe:
    """Everything that decides the prompts; the manifest stores it whole."""
    data: str
    train: str | None = None
    shots: int = 5
    limit: int | None = None
    mode: str = "completion"
    task: str = "gsm8k"
    fewshot: str | None = None
    seed: int = 1234
    thinking: str = "chat"
    reasoning_effort: str | None = None
    max_tokens: int | None = None
    stop: list | None = None
    bos: str = "auto"


def draw_fewshot(rows, shots, documents, how, seed):
    """Train indices for each document: lm-eval draws them from one generator per task, one draw per document."""
    if shots > rows:
        raise EvalError(f"{shots} examples wanted, the file of examples has {rows}")
    if how == "first":
        return [list(range(shots)) for _ in range(documents)]
    rng = random.Random(seed)
    return [rng.sample(range(rows), shots) for _ in range(documents)]


def shown_answer(task, row):
    """What an example answers. gsm8k_cot's examples end "The answer is N." and come in a file of their own."""
    if task != "gsm8k_cot":
        return row["answer"]
    if "target" not in row:
        raise EvalError("gsm8k_cot wants its worked examples as --train: rows {question, target}, "
                        'targets that end "The answer is N."')
    return row["target"]


def target_of(task, row):
    return row["answer"].split("####")[-1].strip() if task == "gsm8k_cot" else row["answer"]


def turns(task, shots, row):
    """(question, answer) of each example, then (question, None)."""
    form = TASKS[task].question
    return [(form.format(s["question"]), shown_answer(task, s)) for s in shots] + [(form.format(row["question"]), None)]


def completion_text(pairs):
    return "".join(f"{question} {answer}\n\n" for question, answer in pairs[:-1]) + pairs[-1][0]


def request_of(mode, pairs, thinking="chat"):
    """The prompt-bearing part of an input line."""
    if mode == "completion":
        return {"prompt": completion_text(pairs)}
    if mode == "chat":
        return {"messages": [{"role": "user", "content": completion_text(pairs)}]}
    if mode == "chat-raw":
        opening = "<think>" if thinking == "thinking" else "</think>"
        return {"prompt": f"{USER}{completion_text(pairs)}{ASSISTANT}{opening}"}
    messages = []
    for question, answer in pairs:
        messages.append({"role": "user", "content": question})
        if answer is not None:
            messages.append({"role": "assistant", "content": answer})
    return {"messages": messages}


def prompt_text(line):
    """One string that stands for the prompt of an input line, in logs and hashes."""
    return line["prompt"] if "prompt" in line else json.dumps(line["messages"], ensure_ascii=False)


def source_of(path, rows):
    return {"file": pathlib.Path(path).name, "sha256": sha256_of_file(path), "rows": len(rows)}


def prepare(recipe):
    """(input lines, manifest)."""
    task = TASKS[recipe.task]
    rows = read_jsonl(recipe.data)
    train = read_jsonl(recipe.train) if recipe.train else []
    how = recipe.fewshot or task.fewshot
    chosen = rows if recipe.limit is None else rows[:recipe.limit]
    draws = draw_fewshot(len(train), recipe.shots, len(chosen), how, recipe.seed)
    max_tokens = recipe.max_tokens or (8192 if recipe.thinking == "thinking" else 256)
    # Stop strings look at the reasoning too, and the harness's would end it where it quotes the question.
    default_stops = [] if recipe.thinking == "thinking" else list(task.stops)
    stop = default_stops if recipe.stop is None else recipe.stop
    options = {"max_tokens": max_tokens, "temperature": 0}
    if stop:
        options["stop"] = stop
    lines, documents = [], []
    for doc_id, (row, draw) in enumerate(zip(chosen, draws)):
        pairs = turns(recipe.task, [train[i] for i in draw], row)
        line = {"id": doc_id, **request_of(recipe.mode, pairs, recipe.thinking), **options}
        lines.append(line)
        documents.append({"id": doc_id, "fewshot": draw, "prompt_sha256": sha256_of_text(prompt_text(line)),
                          "target": target_of(recipe.task, row), "doc": row})
    manifest = {
        "format": FORMAT, "task": recipe.task, "mode": recipe.mode, "shots": recipe.shots, "fewshot": how,
        "seed": recipe.seed, "limit": recipe.limit, "thinking": recipe.thinking,
        "reasoning_effort": recipe.reasoning_effort, "bos": recipe.bos, "options": options,
        "data": source_of(recipe.data, rows), "train": source_of(recipe.train, train) if recipe.train else None,
        "prompts_sha256": sha256_of_text("\n".join(d["prompt_sha256"] for d in documents)), "documents": documents}
    return lines, manifest
