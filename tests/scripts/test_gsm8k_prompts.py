"""Few-shot draws and prompts are lm-eval's, to the character."""
import random
import unittest

from support import DATA, GSM8K, need_gsm8k
from octet_eval.files import EvalError, read_json
from octet_eval.gsm8k_prompts import Recipe, draw_fewshot, prepare, request_of, turns

FIRST = "6b70e1ff7b2cd5e3f841a8a0a6a86609cd02b9c1a18565f3591a88c95e21be5c"
LAST = "8b88472516bcb885df651ea557ab271188fd0b027835081f37de733fbf20149c"
FIVE = "32680f263ba83280e98a8a24ceefed10a722a4cdcd9f4d78e93c45d43143ca66"
WORDS = DATA / "wordmaths"


class Draws(unittest.TestCase):
    def test_all_two_hundred_sets_of_sixteen_are_lm_evals(self):
        recorded = read_json(DATA / "text" / "gsm8k_16shot_seed1234_first200.json")
        self.assertEqual(draw_fewshot(7473, 16, 200, "random", 1234), recorded["indices"])

    def test_the_first_two_sets_of_five_are_lm_evals(self):
        self.assertEqual(draw_fewshot(7473, 5, 2, "random", 1234),
                         [[6374, 3610, 957, 61, 742], [7462, 6610, 4769, 286, 5501]])

    def test_another_seed_draws_other_examples(self):
        self.assertNotEqual(draw_fewshot(7473, 16, 1, "random", 1235), draw_fewshot(7473, 16, 1, "random", 1234))

    def test_drawing_leaves_the_global_generator_alone(self):
        random.seed(5)
        expected = random.random()
        random.seed(5)
        draw_fewshot(100, 5, 3, "random", 1234)
        self.assertEqual(random.random(), expected)

    def test_more_examples_than_rows_are_refused(self):
        with self.assertRaisesRegex(EvalError, "17 examples wanted, the file of examples has 16"):
            draw_fewshot(16, 17, 1, "first", 1234)


class Prompts(unittest.TestCase):
    def prepared(self, shots, limit):
        need_gsm8k()
        return prepare(Recipe(str(GSM8K / "test.jsonl"), str(GSM8K / "train.jsonl"), shots, limit))

    def test_sixteen_shot_prompts_have_the_recorded_hashes(self):
        lines, manifest = self.prepared(16, 200)
        self.assertEqual(len(lines[0]["prompt"]), 9781)
        self.assertEqual(manifest["documents"][0]["prompt_sha256"], FIRST)
        self.assertEqual(manifest["documents"][199]["prompt_sha256"], LAST)

    def test_the_five_shot_prompt_has_the_recorded_hash(self):
        _, manifest = self.prepared(5, 1)
        self.assertEqual(manifest["documents"][0]["prompt_sha256"], FIVE)

    def test_a_limit_takes_a_prefix(self):
        self.assertEqual(self.prepared(16, 100)[0], self.prepared(16, 200)[0][:100])

    def test_lines_are_greedy_and_stop_as_the_harness_does(self):
        lines, _ = prepare(Recipe(str(WORDS / "test.jsonl"), str(WORDS / "fewshot.jsonl"), 2, 1))
        self.assertEqual((lines[0]["temperature"], lines[0]["max_tokens"]), (0, 256))
        self.assertEqual(lines[0]["stop"], ["Question:", "</s>", "<|im_end|>"])

    def test_thinking_has_room_and_no_stop_strings(self):
        lines, _ = prepare(Recipe(str(WORDS / "test.jsonl"), None, 0, 1, "chat", thinking="thinking"))
        self.assertEqual(lines[0]["max_tokens"], 8192)
        self.assertNotIn("stop", lines[0])

    def test_the_manifest_records_examples_and_hashes_of_the_data(self):
        _, manifest = prepare(Recipe(str(WORDS / "test.jsonl"), str(WORDS / "fewshot.jsonl"), 3, 2, fewshot="first"))
        self.assertEqual([d["fewshot"] for d in manifest["documents"]], [[0, 1, 2], [0, 1, 2]])
        self.assertEqual(manifest["data"]["rows"], 200)
        self.assertEqual(len(manifest["data"]["sha256"]), 64)


class Modes(unittest.TestCase):
    pairs = turns("gsm8k", [{"question": "1+1?", "answer": "#### 2"}], {"question": "2+2?"})

    def test_completion_ends_without_a_space(self):
        self.assertEqual(request_of("completion", self.pairs),
                         {"prompt": "Question: 1+1?\nAnswer: #### 2\n\nQuestion: 2+2?\nAnswer:"})

    def test_chat_puts_all_examples_into_one_message(self):
        messages = request_of("chat", self.pairs)["messages"]
        self.assertEqual([m["role"] for m in messages], ["user"])
        self.assertEqual(messages[0]["content"], request_of("completion", self.pairs)["prompt"])

    def test_multiturn_makes_every_example_a_turn(self):
        messages = request_of("chat-multiturn", self.pairs)["messages"]
        self.assertEqual([(m["role"], m["content"]) for m in messages],
                         [("user", "Question: 1+1?\nAnswer:"), ("assistant", "#### 2"),
                          ("user", "Question: 2+2?\nAnswer:")])

    def test_raw_chat_is_the_chat_encoding_written_out(self):
        question = turns("plain", [], {"question": "2+2?"})
        self.assertEqual(request_of("chat-raw", question)["prompt"], "<｜User｜>2+2?<｜Assistant｜></think>")
        self.assertEqual(request_of("chat-raw", question, "thinking")["prompt"], "<｜User｜>2+2?<｜Assistant｜><think>")

    def test_cot_examples_must_say_their_target(self):
        with self.assertRaisesRegex(EvalError, "gsm8k_cot wants its worked examples"):
            turns("gsm8k_cot", [{"question": "1+1?", "answer": "#### 2"}], {"question": "2+2?"})


if __name__ == "__main__":
    unittest.main()
