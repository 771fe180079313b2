"""What gsm8k.py, needle.py, report.py and certify.py share: prompts, scores, statistics, drawings, and running octet.
Standard library only. One purpose per file; no file here parses a command line except arguments.py."""
