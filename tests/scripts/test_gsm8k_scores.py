"""What the score refuses, counts and writes, and that wrong answers and wrong pairs cannot pass."""
import json
import os
import pathlib
import tempfile
import unittest
from unittest import mock

from support import DATA, FAKE, call, output_line
import gsm8k
from octet_eval.files import read_json, read_jsonl, write_jsonl

QUESTIONS = DATA / "wordmaths" / "test.jsonl"
EXAMPLES = DATA / "wordmaths" / "fewshot.jsonl"
LIMIT = 20


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.answers = [row["answer"] for row in read_jsonl(QUESTIONS)][:LIMIT]

    def prepare(self, name, *more):
        code, _, err = call(gsm8k.main, "prepare", "--data", QUESTIONS, "--train", EXAMPLES, "--shots", 2, "--limit",
                            LIMIT, "--out", self.root / name, *more)
        self.assertEqual(code, 0, err)
        return self.root / name

    def answered(self, name, texts=None, lines=None):
        folder = self.prepare(name)
        write_jsonl(folder / "output.jsonl", lines or [output_line(i, t) for i, t in enumerate(texts or self.answers)])
        return folder / "output.jsonl"


class Score(Run):
    def score(self, lines=None, texts=None, *more):
        output = self.answered("a", texts, lines)
        code, out, err = call(gsm8k.main, "score", output, "--json", self.root / "score.json", *more)
        return code, out + err, read_json(self.root / "score.json") if code == 0 else None

    def test_right_answers_score_one(self):
        _, _, figures = self.score()
        self.assertEqual(figures["filters"]["strict-match"]["correct"], LIMIT)
        self.assertEqual(figures["filters"]["flexible-extract"]["accuracy"], 1.0)
        self.assertEqual(figures["filters"]["boxed"]["invalid"], LIMIT)

    def test_answers_to_other_questions_score_low(self):
        _, _, figures = self.score(texts=self.answers[1:] + self.answers[:1])
        self.assertLess(figures["filters"]["strict-match"]["correct"], LIMIT // 4)

    def test_a_missing_document_is_refused_and_partial_is_called_biased(self):
        lines = [output_line(i, t) for i, t in enumerate(self.answers)][:-2]
        code, out, _ = self.score(lines)
        self.assertEqual(code, 2)
        self.assertIn("2 documents have no line (first: 18)", out)
        code, out, figures = self.score(lines, None, "--partial")
        self.assertEqual((code, figures["biased"], figures["scored"]), (0, True, 18))
        self.assertIn("BIASED", out)

    def test_an_error_line_is_refused(self):
        lines = [output_line(i, t) for i, t in enumerate(self.answers)]
        lines[3] = output_line(3, None, error={"code": "context_length_exceeded", "message": "too long"})
        code, out, _ = self.score(lines)
        self.assertEqual(code, 2)
        self.assertIn("1 lines are errors (first: 3, context_length_exceeded: too long)", out)

    def test_shuffled_ids_are_refused(self):
        lines = [output_line(i, t) for i, t in enumerate(self.answers)]
        lines[0]["id"], lines[1]["id"] = 1, 0
        code, out, _ = self.score(lines)
        self.assertEqual(code, 2)
        self.assertIn("answers and questions are not paired", out)

    def test_a_repeated_id_and_an_unknown_id_are_refused(self):
        lines = [output_line(i, t) for i, t in enumerate(self.answers)]
        self.assertIn("id 0 twice", self.score([*lines, lines[0]])[1])
        self.assertIn("id 77 is not in the manifest", self.score([*lines, output_line(77, "x")])[1])

    def test_a_cut_answer_is_seen_by_its_length_whatever_the_finish_reason_says(self):
        lines = [output_line(i, t) for i, t in enumerate(self.answers)]
        lines[0]["usage"]["completion_tokens"] = 256
        lines[1]["text"] = " \n"
        _, _, figures = self.score(lines)
        self.assertEqual((figures["truncated"], figures["empty"]), (1, 1))
        self.assertEqual(figures["filters"]["strict-match"]["invalid"], 1)

    def test_openai_batch_lines_score_the_same(self):
        lines = [{"id": f"batch_req_{i}", "custom_id": str(i), "error": None, "response": {"status_code": 200, "body": {
            "choices": [{"index": 0, "message": {"role": "assistant", "content": t}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 5}}}} for i, t in enumerate(self.answers)]
        self.assertEqual(self.score(lines)[2]["filters"]["strict-match"]["correct"], LIMIT)

    def test_a_line_cut_short_by_a_kill_counts_as_missing(self):
        output = self.answered("a")
        output.write_bytes(output.read_bytes()[:-40])
        code, _, err = call(gsm8k.main, "score", output)
        self.assertEqual(code, 2)
        self.assertIn("1 documents have no line (first: 19)", err)

    def test_the_sample_log_has_lm_evals_fields(self):
        output = self.answered("a")
        call(gsm8k.main, "score", output, "--samples", self.root / "samples.jsonl")
        rows = read_jsonl(self.root / "samples.jsonl")
        self.assertEqual(len(rows), 3 * LIMIT)
        self.assertEqual(set(rows[0]), {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter",
                                        "metrics", "doc_hash", "prompt_hash", "target_hash", "exact_match"})
        manifest = read_json(self.root / "a" / "manifest.json")
        self.assertEqual(rows[0]["prompt_hash"], manifest["documents"][0]["prompt_sha256"])
        self.assertEqual(rows[0]["resps"], [[self.answers[0]]])

    def test_prompts_changed_after_the_manifest_are_refused_in_the_sample_log(self):
        output = self.answered("a")
        prompts = read_jsonl(self.root / "a" / "prompts.jsonl")
        prompts[0]["prompt"] += " "
        write_jsonl(self.root / "a" / "prompts.jsonl", prompts)
        code, _, err = call(gsm8k.main, "score", output, "--samples", self.root / "samples.jsonl")
        self.assertEqual(code, 2)
        self.assertIn("the prompt of 0 is not the one of the manifest", err)


class Compare(Run):
    def test_flips_are_counted_by_side(self):
        worse = ["#### 0"] * 6 + self.answers[6:]
        a, b = self.answered("a"), self.answered("b", worse)
        code, out, _ = call(gsm8k.main, "compare", a, b, "--json", self.root / "c.json", "--gate", 2)
        row = read_json(self.root / "c.json")["filters"]["strict-match"]
        self.assertEqual((row["won"], row["lost"]), ([], [0, 1, 2, 3, 4, 5]))
        self.assertAlmostEqual(row["mcnemar_p"], 0.03125)
        self.assertAlmostEqual(row["difference"], -0.3)
        self.assertEqual(code, 1)
        self.assertIn("FAILED: strict-match: B may be", out)

    def test_equal_files_pass_every_gate(self):
        code, out, _ = call(gsm8k.main, "compare", self.answered("a"), self.answered("b"), "--gate", 2, "--identical")
        self.assertEqual(code, 0, out)

    def test_another_text_with_the_same_answer_is_not_identical(self):
        b = self.answered("b", ["So " + self.answers[0], *self.answers[1:]])
        code, out, _ = call(gsm8k.main, "compare", self.answered("a"), b, "--identical")
        self.assertEqual((code, "FAILED: 1 texts differ" in out), (1, True))

    def test_other_prompts_and_shuffled_documents_are_refused(self):
        a = self.answered("a")
        for change, what in ((lambda d: d[0].update(prompt_sha256="0"), "another prompt"),
                             (lambda d: d.insert(0, d.pop()), "another id"),
                             (lambda d: d[0].update(doc=d[1]["doc"]), "another question"),
                             (lambda d: d.pop(), "20 documents against 19")):
            b = self.answered("b")
            manifest = read_json(b.parent / "manifest.json")
            change(manifest["documents"])
            lines = [output_line(d["id"], self.answers[d["id"]], line=n + 1)
                     for n, d in enumerate(manifest["documents"])]
            write_jsonl(b, lines)
            (b.parent / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
            code, _, err = call(gsm8k.main, "compare", a, b)
            (b.parent / "manifest.json").unlink()
            self.assertEqual(code, 2)
            self.assertIn(what, err)


class Running(Run):
    def run_fake(self, *more):
        return call(gsm8k.main, "run", "--data", QUESTIONS, "--shots", 0, "--task", "plain", "--mode", "chat-raw",
                    "--limit", LIMIT, "--out", self.root / "a", "-m", "model", "--octet", FAKE, *more)

    def test_a_run_ends_with_its_score_and_hands_flags_on(self):
        code, out, err = self.run_fake("--require", LIMIT, "--", "--max-batch", 8)
        self.assertEqual(code, 0, out + err)
        arguments = read_json(self.root / "a" / "summary.json")["arguments"]
        self.assertEqual(arguments[-2:], ["--max-batch", "8"])
        self.assertEqual(read_json(self.root / "a" / "score.json")["scored"], LIMIT)
        self.assertEqual(len(read_jsonl(self.root / "a" / "samples.jsonl")), 3 * LIMIT)

    def test_an_existing_output_is_resumed_only_when_told(self):
        self.run_fake()
        code, _, err = self.run_fake()
        self.assertEqual((code, "--resume goes on with it" in err), (2, True))
        self.assertEqual(self.run_fake("--resume")[0], 0)
        self.assertIn("--resume", read_json(self.root / "a" / "summary.json")["arguments"])

    def test_resume_with_nothing_to_resume_starts_afresh(self):
        self.assertEqual(self.run_fake("--resume")[0], 0)
        self.assertNotIn("--resume", read_json(self.root / "a" / "summary.json")["arguments"])

    def test_too_few_right_answers_fail_the_run(self):
        with mock.patch.dict(os.environ, {"FAKE_FAULT": "wrong"}):
            code, out, _ = self.run_fake("--require", LIMIT)
        self.assertEqual(code, 1)
        self.assertRegex(out, r"FAILED: \d+ right answers by the best filter, 20 wanted")


class Prepare(Run):
    def test_a_folder_with_other_prompts_is_kept_unless_forced(self):
        self.prepare("a")
        arguments = ("prepare", "--data", QUESTIONS, "--train", EXAMPLES, "--shots", 3, "--limit", LIMIT, "--out",
                     self.root / "a")
        self.assertEqual(call(gsm8k.main, *arguments)[0], 2)
        self.assertEqual(call(gsm8k.main, *arguments, "--force")[0], 0)

    def test_help_begins_with_examples(self):
        with self.assertRaises(SystemExit) as end:
            call(gsm8k.main, "--help")
        self.assertEqual(end.exception.code, 0)


if __name__ == "__main__":
    unittest.main()
