"""The part of the command line that gsm8k.py, needle.py and certify.py share: octet, model, ranks."""
import pathlib

from octet_eval.files import EvalError
from octet_eval.octet_run import run_octet


def split_passthrough(arguments):
    """What stands before -- is ours, what follows is octet's."""
    if "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1:]


def add_run_options(parser, resume=True):
    parser.add_argument("-m", "--model", required=True, metavar="DIR", help="checkpoint folder")
    parser.add_argument("-R", "--ranks", type=int, default=1, metavar="N", help="ranks of mpirun (1: no mpirun)")
    parser.add_argument("--octet", metavar="PROGRAM", help="default: newest release build, newest build, PATH")
    parser.add_argument("--launcher", default="mpirun --oversubscribe", metavar="WORDS",
                        help="what comes before -np N (mpirun --oversubscribe)")
    if resume:
        parser.add_argument("--resume", action="store_true", help="go on with the folder's unfinished output")
    parser.epilog = "Flags after -- go to octet generate."


def run_into(folder, options, flags):
    """octet generate from folder/prompts.jsonl to folder/output.jsonl and summary.json."""
    output, summary = pathlib.Path(folder) / "output.jsonl", pathlib.Path(folder) / "summary.json"
    arguments = ["generate", "-m", options.model, "-i", pathlib.Path(folder) / "prompts.jsonl", "-o", output,
                 "--summary", summary, *flags]
    started = output.exists() or output.with_name(output.name + ".partial").exists()
    if getattr(options, "resume", False) and started:
        summary.unlink(missing_ok=True)
        arguments.append("--resume")
    elif getattr(options, "force", False):
        arguments.append("--force")
    elif output.exists():
        raise EvalError(f"{output} exists: --resume goes on with it, --force replaces it")
    return run_octet(arguments, options.ranks, options.octet, options.launcher)
