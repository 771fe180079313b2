"""Certification of what octet answers: greedy sanity, gsm8k, needles, and a tool call with its second turn."""
import json

from octet_eval import gsm8k_prompts, gsm8k_score, needle_cases
from octet_eval.campaign import SKIPPED, Outcome, metric, outcome
from octet_eval.files import read_jsonl
from octet_eval.gsm8k_prompts import ASSISTANT, USER
from octet_eval.intervals import wilson
from octet_eval.results import join
from octet_eval.text_checks import garbage

REFERENCE_ACCURACY = 0.975  # gsm8k, 200 documents, 16 examples, 8 at a time: the reference campaign


def chat(question):
    return f"{USER}{question}{ASSISTANT}</think>"


SANITY = (  # prompt, what the answer holds
    (chat("What is 17*19? Return only the final integer."), "323"),
    ("The capital of France is", "Paris"),
    (chat("中国的首都是哪座城市？只回答城市名。"), "北京"),
    ("def fibonacci(n):\n    if n < 2:\n        return n\n    return ", "fibonacci(n"),
    (chat("Spell the word 'octet' backwards. Answer with the letters only."), "tetco"),
)
REDUCED_QUESTIONS, REDUCED_NEEDLE_TOKENS = 12, 600


def sanity(context):
    """Greedy prompts with fixed answers, and nothing repeated or broken: one rank with garbage is seen here first."""
    if context.reduced:
        rows = read_jsonl(context.words / "test.jsonl")[:3]
        cases = [(chat(row["question"]), row["answer"].split("\n")[-1]) for row in rows]
    else:
        cases = SANITY
    lines = [{"id": i, "prompt": prompt, "max_tokens": 64, "temperature": 0} for i, (prompt, _) in enumerate(cases)]
    completions, _ = context.generate("sanity", lines)
    failures = []
    for i, (_, expected) in enumerate(cases):
        answer = completions[str(i)]
        if expected not in answer.text:
            failures.append(f"{expected!r} wanted, got {answer.text[:60]!r}")
        # A completion that goes on after its answer may count or list: only text that stops by itself is judged.
        elif answer.finish_reason == "stop" and (fault := garbage(answer, context.eos_ids())):
            failures.append(f"answer {i}: {fault}")
    return outcome(failures, f"{len(cases)} answers as expected",
                   details={"texts": {i: c.text for i, c in completions.items()}})


def gsm8k(context):
    """200 documents, 16 examples, 8 at a time; reduced: word problems that must all be right."""
    if context.reduced:
        recipe = gsm8k_prompts.Recipe(str(context.words / "test.jsonl"), None, 0, REDUCED_QUESTIONS, "chat-raw",
                                      "plain", max_tokens=128)
    elif context.gsm8k is None:
        return Outcome(SKIPPED, "no gsm8k data: --gsm8k DIR with test.jsonl and train.jsonl")
    else:
        recipe = gsm8k_prompts.Recipe(str(context.gsm8k / "test.jsonl"), str(context.gsm8k / "train.jsonl"), 16, 200)
    lines, manifest = gsm8k_prompts.prepare(recipe)
    completions, summary = context.generate("gsm8k", lines, "--max-batch", "8")
    joined = join(manifest, completions, "gsm8k")
    graded = gsm8k_score.grade(manifest, joined.pairs)
    figures = gsm8k_score.figures(manifest, joined, graded)
    n = figures["scored"]
    name, best = max(figures["filters"].items(), key=lambda item: item[1]["correct"])
    required = n if context.reduced else context.gsm8k_required
    failures = []
    if required is not None and best["correct"] < required:
        failures.append(f"{best['correct']} of {n} by {name}, {required} wanted")
    elif required is None and wilson(best["correct"], n)[1] < REFERENCE_ACCURACY:
        failures.append(f"{best['correct']} of {n} by {name}: significantly below {REFERENCE_ACCURACY}")
    return outcome(failures, f"{best['correct']} of {n} right by {name}, +- {best['stderr']:.3f}",
                   {"accuracy": metric(best["accuracy"], "higher"),
                    "output_throughput": metric(summary["output_throughput"], "higher")}, figures)


def needle(context):
    """342k tokens, 3 depths, 3 seeds, all found, and a short question after them."""
    if context.reduced:
        lines, documents = needle_cases.from_file(context.words / "needle.jsonl", None, REDUCED_NEEDLE_TOKENS)
        row = read_jsonl(context.words / "test.jsonl")[5]
        probe = (row["question"], row["answer"].split("\n")[-1])
    else:
        lengths, depths, seeds = needle_cases.SUITES["release"]
        limit = context.context_limit()
        if limit is not None and limit < max(lengths) + needle_cases.MAX_TOKENS:
            return Outcome(SKIPPED, f"the model's context is {limit}, the prompts have {max(lengths)} tokens")
        counter = needle_cases.tokens_by_octet(context.model, context.program)
        lines, documents = needle_cases.grid(lengths, depths, seeds, count_all=counter)
        probe = needle_cases.PROBE
    needle_cases.add_probe(lines, documents, *probe)
    manifest = needle_cases.manifest_of(lines, documents)
    completions, _ = context.generate("needle", lines)
    result = needle_cases.figures(join(manifest, completions, "needle"))
    failures = [f"{row['id']} missed, got {row['text'][:40]!r}" for row in result["rows"] if not row["found"]]
    if not result["probe"]["right"]:
        failures.append(f"the question after them got {result['probe']['text'][:40]!r}")
    return outcome(failures, f"{result['found']} of {result['prompts']} found, and the question after them answered",
                   {"found": metric(result["found"], "higher")}, result)


WEATHER_TOOL = {"type": "function", "function": {
    "name": "get_forecast", "description": "Weather forecast of a city",
    "parameters": {"type": "object", "required": ["city", "days"], "additionalProperties": False, "properties": {
        "city": {"type": "string"}, "days": {"type": "integer", "description": "how many days ahead"}}}}}
TOOL_QUESTION = {"role": "user", "content": "What will the weather be in Lyon in 3 days? Use the tool."}
PYTHON_TYPES = {"string": str, "integer": int}


def faults_of_call(call):
    """Why a tool call does not satisfy the schema of WEATHER_TOOL."""
    function, schema = call.get("function") or {}, WEATHER_TOOL["function"]["parameters"]
    if function.get("name") != WEATHER_TOOL["function"]["name"]:
        return f"calls {function.get('name')!r}"
    try:
        arguments = json.loads(function.get("arguments") or "")
    except (TypeError, ValueError):
        return f"arguments are not JSON: {function.get('arguments')!r}"
    if not isinstance(arguments, dict) or set(arguments) != set(schema["required"]):
        return f"arguments {arguments!r}"
    for name, value in arguments.items():
        if type(value) is not PYTHON_TYPES[schema["properties"][name]["type"]]:
            return f"{name} is {value!r}"
    return None


def tools(context):
    """A request with a tool is answered by a call, and the tool's result by a sentence that holds it."""
    if context.reduced:
        return Outcome(SKIPPED, "the small model knows no tools")
    ask = {"id": "call", "messages": [TOOL_QUESTION], "tools": [WEATHER_TOOL], "max_tokens": 256, "temperature": 0}
    call_line = context.generate("tools_call", [ask], "--thinking", "chat")[0]["call"]
    calls = call_line.message.get("tool_calls") or []
    if call_line.finish_reason != "tool_calls" or not calls:
        return outcome([f"finish_reason {call_line.finish_reason}, {len(calls)} calls"], "")
    faults = [fault for call in calls if (fault := faults_of_call(call))]
    if faults:
        return outcome(faults, "")
    result = {"role": "tool", "tool_call_id": calls[0].get("id"), "content": '{"sky": "clear", "celsius": 27}'}
    asked = {"role": "assistant", "content": call_line.text, "tool_calls": calls}
    again = {**ask, "id": "answer", "messages": [TOOL_QUESTION, asked, result]}
    answer = context.generate("tools_answer", [again], "--thinking", "chat")[0]["answer"]
    failures = [] if "27" in answer.text else [f"the second turn says {answer.text[:60]!r}"]
    return outcome(failures, "a valid call, and its result in the next answer", details={"calls": calls,
                                                                                        "answer": answer.text})
