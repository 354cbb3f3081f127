"""Looking for a word everywhere: in every table, in every file and in every file's name."""

import random

from django.db import connection, transaction

from holamem.environment import get_environment

_RARE_HAN = "璆瓒珺琬琰瑱璩瓘璠玠琤瑸璟瓛珩琚瑀璜"


def english_canary() -> str:
    """A name that nothing else holds, of letters that stemming leaves alone."""
    return "Zq" + "".join(random.choices("bcdfghjklmnpqrtvwxz", k=9)) + "o"


def chinese_canary() -> str:
    return "".join(random.sample(_RARE_HAN, 4))


def tables_holding(word: str) -> list[str]:
    """Every table of the database with a row whose text, whatever the column, has the word.

    Asked as the owner of the tables, whom no policy hides a row from.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('role', 'holamem_owner', true)")
        cursor.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
            " AND tableowner = 'holamem_owner'"
        )
        found = []
        for (table,) in cursor.fetchall():
            name = connection.ops.quote_name(table)
            cursor.execute(
                f"SELECT count(*) FROM {name} AS t WHERE t::text ILIKE %s",
                [f"%{word}%"],
            )
            if cursor.fetchone()[0]:
                found.append(table)
    return found


def files_holding(word: str) -> list[str]:
    """Paths below the bodies' root whose name or content has the word."""
    root = get_environment().bodies_dir
    return [
        str(path.relative_to(root))
        for path in sorted(root.rglob("*"))
        if word.casefold() in str(path.relative_to(root)).casefold()
        or (path.is_file() and word.casefold() in _content(path.read_bytes()))
    ]


def _content(data: bytes) -> str:
    return data.decode("utf-8", "replace").casefold()


def assert_no_trace(*words: str) -> None:
    for word in words:
        assert tables_holding(word) == []
        assert files_holding(word) == []
