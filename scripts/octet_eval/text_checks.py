"""Whether a generated text is broken: replacement characters, or the same words again and again."""
NGRAM, LARGEST_REPEATED_SHARE = 8, 0.2


def repeated_share(tokens):
    """Share of 8-grams that occurred before in the same text."""
    grams = [tuple(tokens[i:i + NGRAM]) for i in range(len(tokens) - NGRAM + 1)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0


def garbage(completion, eos_ids):
    """A sentence about what is wrong, or None. What a model writes after its end of sequence is not judged."""
    if "\ufffd" in completion.text.rstrip("\ufffd"):  # at the end it is a character that the length limit cut
        return "a replacement character"
    tokens = completion.token_ids or completion.text.split()
    for place, token in enumerate(tokens):
        if token in eos_ids:
            tokens = tokens[:place]
            break
    share = repeated_share(tokens)
    return f"{100 * share:.0f} % of its 8-grams repeat" if share > LARGEST_REPEATED_SHARE else None
