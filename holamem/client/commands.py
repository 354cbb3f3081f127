"""The verbs of the command line. Address, key and workspace come from the environment."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from holamem.client.chats.plan import ChatOptions, preview_chats
from holamem.client.connection import KEY_VARIABLE, URL_VARIABLE, WORKSPACE_VARIABLE, Connection
from holamem.client.errors import ApiError, ClientError
from holamem.client.memory import USER_MESSAGE, Memory
from holamem.client.shown import browsed, preview, remembered, report, retrieved

OK, FAILED, REFUSED_SOME = 0, 1, 3
STANDARD_INPUT = "-"

Verb = Callable[[Connection, argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0 done, 1 failed, 2 wrong usage, 3 imported except for some messages."""
    options = _parser().parse_args(arguments)
    verb: Verb = options.verb
    try:
        return verb(_connection(options), options)
    except ClientError as error:
        _complain(error)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped. The same command goes on where it was.\n")
    return FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="holamem",
        description="Long-term memory from the command line.",
        epilog=f"Environment: {KEY_VARIABLE}, {URL_VARIABLE}, {WORKSPACE_VARIABLE}.",
    )
    parser.add_argument("--workspace", help="slug; else the one that the key is bound to")
    parser.add_argument("--json", action="store_true", dest="as_json", help="answers as JSON")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    for add in (_add_remember, _add_retrieve, _add_browse, _add_import_chats):
        add(verbs)
    return parser


def _add_remember(verbs: Any) -> None:
    verb = verbs.add_parser("remember", help="send one event")
    verb.add_argument("text", help="what to remember; - reads it from standard input")
    verb.add_argument("--kind", default=USER_MESSAGE, help="who said it (%(default)s)")
    verb.add_argument("--user", dest="user_id", help="the end user whose private memory it is")
    verb.add_argument("--at", dest="occurred_at", help="when it was said, with a zone")
    for name in ("actor", "session", "source", "external-id"):
        verb.add_argument(f"--{name}")
    verb.add_argument("--wait", action="store_true", help="answer with what became of it")
    verb.add_argument("--dry-run", action="store_true", help="decide, but write nothing")
    verb.set_defaults(verb=_remember)


def _add_retrieve(verbs: Any) -> None:
    verb = verbs.add_parser("retrieve", help="ask a question")
    verb.add_argument("question")
    verb.add_argument("--user", dest="user_id", help="that end user's memory as well")
    verb.add_argument("--max-results", type=int)
    verb.add_argument("--token-budget", type=int)
    verb.add_argument("--mode", choices=["auto", "broad_summary", "exact_evidence"])
    verb.add_argument("--prompt", action="store_true", help="only the text for a model")
    verb.set_defaults(verb=_retrieve)


def _add_browse(verbs: Any) -> None:
    verb = verbs.add_parser("browse", help="walk the memory tree")
    verb.add_argument("path", nargs="?", help="such as interaction, or interaction/KEY")
    verb.add_argument("--node", dest="node_id", help="a leaf, a summary or a tree, by its id")
    verb.add_argument("--depth", type=int)
    verb.add_argument("--cursor", help="from a former answer")
    verb.add_argument("--user", dest="user_id", help="that end user's memory as well")
    verb.set_defaults(verb=_browse)


def _add_import_chats(verbs: Any) -> None:
    verb = verbs.add_parser(
        "import-chats",
        help="read a chat history: a ChatGPT or Claude export, or Claude Code sessions",
    )
    verb.add_argument("file", help="the archive, conversations.json, a .jsonl file or a folder")
    verb.add_argument("--yes", action="store_true", help="send it; without this only look at it")
    verb.add_argument("--user", dest="user_id", help="the end user whose private memory it is")
    verb.add_argument("--since", type=_moment, help="only what was said from then on")
    verb.add_argument("--no-assistant", action="store_true", help="only what people said")
    verb.add_argument("--tool-results", action="store_true", help="results of tools as well")
    verb.set_defaults(verb=_import_chats)


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _connection(options: argparse.Namespace) -> Connection:
    connection = Connection()
    return (
        connection
        if options.workspace is None
        else replace(connection, workspace=options.workspace)
    )


def _remember(connection: Connection, options: argparse.Namespace) -> int:
    text = sys.stdin.read() if options.text == STANDARD_INPUT else options.text
    names = ("user_id", "occurred_at", "actor", "session", "source", "external_id")
    details: Any = {name: getattr(options, name) for name in names}
    with Memory(connection) as memory:
        answer = memory.remember(
            text, kind=options.kind, wait=options.wait, dry_run=options.dry_run, **details
        )
    return _show(answer, options, remembered)


def _retrieve(connection: Connection, options: argparse.Namespace) -> int:
    names = ("user_id", "max_results", "token_budget", "mode")
    filters: Any = {name: getattr(options, name) for name in names}
    with Memory(connection) as memory:
        answer = memory.retrieve(options.question, **filters)
    if options.prompt:
        _write(answer.prompt)
        return OK
    return _show(answer, options, retrieved)


def _browse(connection: Connection, options: argparse.Namespace) -> int:
    names = ("path", "node_id", "depth", "cursor", "user_id")
    place: Any = {name: getattr(options, name) for name in names}
    with Memory(connection) as memory:
        return _show(memory.browse(**place), options, browsed)


def _import_chats(connection: Connection, options: argparse.Namespace) -> int:
    chosen = ChatOptions(
        user_id=options.user_id,
        with_tool_results=options.tool_results,
        with_assistant=not options.no_assistant,
        since=options.since,
    )
    if not options.yes:
        return _show(preview_chats(options.file, chosen), options, preview)
    with Memory(connection) as memory:
        found = memory.import_chats(options.file, chosen, progress=_progress)
    _show(found, options, report)
    return REFUSED_SOME if found.refused else OK


def _progress(arrived: int, total: int) -> None:
    sys.stderr.write(f"{arrived} of {total}\n")


def _show(answer: Any, options: argparse.Namespace, words: Callable[[Any], str]) -> int:
    _write(
        json.dumps(asdict(answer), ensure_ascii=False, default=str)
        if options.as_json
        else words(answer)
    )
    return OK


def _write(text: str) -> None:
    sys.stdout.write(text.rstrip("\n") + "\n")
    sys.stdout.flush()


def _complain(error: ClientError) -> None:
    sys.stderr.write(f"holamem: {error}\n")
    if isinstance(error, ApiError):
        for item in error.errors:
            if item.field:
                sys.stderr.write(f"  {item.field}: {item.message}\n")
