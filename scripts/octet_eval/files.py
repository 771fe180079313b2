"""JSON and JSONL in and out, and the hashes that tie a score to the files it came from."""
import hashlib
import json
import os
import pathlib


class EvalError(Exception):
    """Something given by the user cannot be used; one sentence, exit code 2."""


def sha256_of_text(text):
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def sha256_of_file(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def read_json(path):
    try:
        return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise EvalError(f"{path}: {error}") from error


def read_jsonl(path, torn_end=False):
    """The objects of a file. With `torn_end` a last line without its line feed (a killed run) may be cut short."""
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8", errors="strict" if not torn_end else "replace")
    except (OSError, ValueError) as error:
        raise EvalError(f"{path}: {error}") from error
    rows, lines = [], text.split("\n")  # not splitlines(): a JSON string may hold U+2028
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            if torn_end and number == len(lines):
                break
            raise EvalError(f"{path}:{number}: {error}") from error
        if not isinstance(row, dict):
            raise EvalError(f"{path}:{number}: not an object")
        rows.append(row)
    return rows


def write_text(path, text):
    """Replaces the file in one step, so that nobody reads half of it."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(text, encoding="utf-8")
    os.replace(fresh, path)


def write_json(path, value):
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def write_jsonl(path, rows):
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
