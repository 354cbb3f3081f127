"""Looking for a word everywhere: in every table, in every file and in every file's name."""

import json
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
    patterns = ["%" + spelling.replace("\\", r"\\") + "%" for spelling in _spellings(word)]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('role', 'holamem_owner', true)")
        cursor.execute(_COLUMNS)
        found = []
        for table, columns in cursor.fetchall():
            cursor.execute(
                f"SELECT EXISTS (SELECT FROM {connection.ops.quote_name(table)} AS t"
                f" WHERE ROW({columns})::text LIKE ANY (%s))",
                [patterns],
            )
            if cursor.fetchone()[0]:
                found.append(table)
    return found


# Vectors are numbers: they hold no word, and are slow to write out.
_COLUMNS = """
SELECT t.tablename, string_agg('t.' || quote_ident(a.attname), ', ')
  FROM pg_tables AS t JOIN pg_attribute AS a ON a.attrelid = quote_ident(t.tablename)::regclass
 WHERE t.schemaname = 'public' AND t.tableowner = 'holamem_owner' AND a.attnum > 0
   AND NOT a.attisdropped AND format_type(a.atttypid, NULL) <> 'halfvec'
 GROUP BY t.tablename"""


def files_holding(word: str) -> list[str]:
    """Paths below the bodies' root whose name or content has the word."""
    root = get_environment().bodies_dir
    spellings = [spelling.encode() for spelling in _spellings(word)]
    return [
        str(path.relative_to(root))
        for path in sorted(root.rglob("*"))
        if _holds(str(path.relative_to(root)).encode(), spellings)
        or (path.is_file() and _holds(path.read_bytes(), spellings))
    ]


def _holds(data: bytes, spellings: list[bytes]) -> bool:
    return any(spelling in data for spelling in spellings)


def _spellings(word: str) -> list[str]:
    """As it is, in small and in capital letters, and as JSON may write it."""
    return [word, word.lower(), word.upper(), json.dumps(word)[1:-1]]


def assert_no_trace(*words: str) -> None:
    for word in words:
        assert tables_holding(word) == []
        assert files_holding(word) == []
