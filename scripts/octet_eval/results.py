"""Output lines of octet generate, native or OpenAI batch, as one kind of record, joined with what was asked."""
from dataclasses import dataclass, field

from octet_eval.files import EvalError, read_jsonl


@dataclass
class Completion:
    id: str
    text: str | None
    completion_tokens: int = 0
    prompt_tokens: int = 0
    finish_reason: str | None = None
    error: str | None = None
    line: int | None = None  # of the input file, 1-based
    message: dict = field(default_factory=dict)
    token_ids: list = field(default_factory=list)
    timing: dict = field(default_factory=dict)


def error_text(error):
    return f"{error.get('code')}: {error.get('message')}" if isinstance(error, dict) else str(error)


def native(row):
    usage, message = row.get("usage") or {}, row.get("message") or {}
    text = row.get("text") if "text" in row else message.get("content")
    if "message" in row and text is None:
        text = ""  # only reasoning, or only tool calls
    error = error_text(row["error"]) if row.get("error") else None
    return Completion(str(row.get("id")), text, usage.get("completion_tokens", 0), usage.get("prompt_tokens", 0),
                      row.get("finish_reason"), error, row.get("line"), message, row.get("token_ids") or [],
                      row.get("timing") or {})


def openai_batch(row):
    body = (row.get("response") or {}).get("body") or {}
    choice = (body.get("choices") or [{}])[0]
    usage, message = body.get("usage") or {}, choice.get("message") or {}
    text = choice["text"] if "text" in choice else message.get("content")
    if message and text is None:
        text = ""
    error = error_text(row["error"]) if row.get("error") else None
    if error is None and not body.get("choices"):
        error = "a line without choices"
    return Completion(str(row.get("custom_id")), text, usage.get("completion_tokens", 0), usage.get("prompt_tokens", 0),
                      choice.get("finish_reason"), error, row.get("line"), message)


def read_completions(path):
    """By id. Two lines for one id have no right answer, so they are refused, except an error followed by a success."""
    completions = {}
    for row in read_jsonl(path, torn_end=True):
        completion = openai_batch(row) if "custom_id" in row else native(row)
        if completion.error is None and completion.text is None:
            completion.error = "a line without text"
        earlier = completions.get(completion.id)
        if earlier is not None and earlier.error is None:
            raise EvalError(f"{path}: id {completion.id} twice")
        completions[completion.id] = completion
    return completions


@dataclass
class Joined:
    """Documents with their completions, in the order of the manifest, and what is missing from a whole."""
    pairs: list  # (document, Completion)
    missing: list
    errors: list  # (id, error)

    @property
    def complete(self):
        return not self.missing and not self.errors


def join(manifest, completions, path):
    """`manifest["documents"]`, each with an `id`, stand in the order of the input lines. A file that answers other
    prompts is refused: ids and the input line numbers that octet wrote must agree."""
    documents = manifest["documents"]
    known = {str(document["id"]) for document in documents}
    strangers = [i for i in completions if i not in known]
    if strangers:
        raise EvalError(f"{path}: id {strangers[0]} is not in the manifest ({len(strangers)} such lines)")
    joined = Joined([], [], [])
    for number, document in enumerate(documents, 1):
        completion = completions.get(str(document["id"]))
        if completion is None:
            joined.missing.append(document["id"])
            continue
        if completion.line is not None and completion.line != number:
            raise EvalError(f"{path}: id {document['id']} answers line {completion.line}, the manifest has it in "
                            f"line {number}: answers and questions are not paired")
        if completion.error is not None:
            joined.errors.append((document["id"], completion.error))
            continue
        joined.pairs.append((document, completion))
    return joined


def require_complete(joined, path, partial):
    if joined.complete or partial:
        return
    what = [f"{len(joined.missing)} documents have no line (first: {joined.missing[0]})"] if joined.missing else []
    if joined.errors:
        what.append(f"{len(joined.errors)} lines are errors (first: {joined.errors[0][0]}, {joined.errors[0][1]})")
    raise EvalError(f"{path} is incomplete: {'; '.join(what)}. --partial scores the rest; the result is biased")
