"""The SQL that a table's definition implies. Names come from read models, values never get into a statement."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, Final, LiteralString

from psycopg import sql
from psycopg.types.json import Jsonb

from projections.core import Key, Row, Table
from projections.query import Select, Totals

SCHEMA: Final = "views"
REBUILD_SCHEMA: Final = "views_rebuild"
"""Exists only inside the transaction of a rebuild."""

TRACKING: Final[LiteralString] = """
CREATE SCHEMA IF NOT EXISTS views;
CREATE TABLE IF NOT EXISTS views.tracking (
    name text PRIMARY KEY,
    position bigint NOT NULL,
    definition text NOT NULL,
    tables text[] NOT NULL,
    failed_position bigint,
    failed_event text,
    failure text
);
"""


def qualified(table: Table, schema: str = SCHEMA) -> sql.Identifier:
    return sql.Identifier(schema, table.name)


def _names(columns: Collection[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))


def _base_type(table: Table, column: str) -> sql.SQL:
    return _trusted(table.columns[column].removesuffix(" null"))


def _trusted(definition: str) -> sql.SQL:
    """A type that the source code of a read model states."""
    return sql.SQL(definition)


@cache
def encoder(table: Table) -> Callable[[Row], tuple[Any, ...]]:
    """A function from a row to what psycopg writes, in the order of the columns."""
    pick = itemgetter(*table.columns)
    documents = [number for number, kind in enumerate(table.columns.values()) if kind.startswith("jsonb")]
    if not documents:
        return pick

    def encode(row: Row) -> tuple[Any, ...]:
        values = list(pick(row))
        for number in documents:
            values[number] = None if values[number] is None else Jsonb(values[number])
        return tuple(values)

    return encode


def create(table: Table, schema: str) -> sql.Composed:
    """The table alone: its primary key and indexes come after the rows, which is cheaper (`indexes`)."""
    columns = [
        sql.SQL("{} {} {}").format(
            sql.Identifier(name),
            _base_type(table, name),
            sql.SQL("" if kind.endswith(" null") else "NOT NULL"),
        )
        for name, kind in table.columns.items()
    ]
    return sql.SQL("CREATE TABLE {} ({})").format(qualified(table, schema), sql.SQL(", ").join(columns))


def indexes(table: Table, schema: str) -> list[sql.Composed]:
    key = sql.SQL("ALTER TABLE {} ADD PRIMARY KEY ({})").format(qualified(table, schema), _names(table.key))
    return [
        key,
        *(
            sql.SQL("CREATE INDEX {} ON {} ({})").format(
                sql.Identifier(f"{table.name}_{'_'.join(columns)}_idx"), qualified(table, schema), _names(columns)
            )
            for columns in table.indexes
        ),
    ]


def copy_in(table: Table, schema: str) -> sql.Composed:
    """Binary: a quarter of the text format's cost for the client. It needs `copy_types`."""
    return sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(qualified(table, schema), _names(table.columns))


def copy_types(table: Table) -> list[str]:
    return [kind.removesuffix(" null") for kind in table.columns.values()]


@cache
def upsert(table: Table, schema: str = SCHEMA) -> bytes:
    changes = [
        sql.SQL("{0} = EXCLUDED.{0}").format(sql.Identifier(name)) for name in table.columns if name not in table.key
    ]
    action = sql.SQL("DO UPDATE SET {}").format(sql.SQL(", ").join(changes)) if changes else sql.SQL("DO NOTHING")
    statement = sql.SQL("INSERT INTO {} ({}) VALUES ({}) ON CONFLICT ({}) {}").format(
        qualified(table, schema),
        _names(table.columns),
        sql.SQL(", ").join([sql.Placeholder()] * len(table.columns)),
        _names(table.key),
        action,
    )
    return statement.as_bytes()


@cache
def delete(table: Table, schema: str = SCHEMA) -> bytes:
    statement = sql.SQL("DELETE FROM {} WHERE ({}) = ({})").format(
        qualified(table, schema), _names(table.key), sql.SQL(", ").join([sql.Placeholder()] * len(table.key))
    )
    return statement.as_bytes()


@cache
def load(table: Table) -> bytes:
    """Rows by primary key; one array for each column of the key (`key_arrays`)."""
    arrays = [sql.SQL("{}::{}[]").format(sql.Placeholder(), _base_type(table, column)) for column in table.key]
    statement = sql.SQL("SELECT {} FROM {} WHERE ({}) IN (SELECT * FROM unnest({}))").format(
        _names(table.columns), qualified(table), _names(table.key), sql.SQL(", ").join(arrays)
    )
    return statement.as_bytes()


def key_arrays(keys: Sequence[Key]) -> list[list[Any]]:
    return [list(column) for column in zip(*(key[1:] for key in keys), strict=True)]


def whole(table: Table) -> sql.Composed:
    return sql.SQL("SELECT {} FROM {}").format(_names(table.columns), qualified(table))


def select(query: Select) -> tuple[sql.Composed, list[Any]]:
    """The statement of a query and its parameters."""
    conditions, parameters = _conditions(query.table, query.where)
    if query.prefix is not None:
        conditions.append(sql.SQL("{} ^@ {}").format(sql.Identifier(query.prefix[0]), sql.Placeholder()))
        parameters.append(query.prefix[1])
    if query.after is not None:
        conditions.append(
            sql.SQL("({}) {} ({})").format(
                _names(query.order),
                sql.SQL("<" if query.descending else ">"),
                sql.SQL(", ").join([sql.Placeholder()] * len(query.order)),
            )
        )
        parameters.extend(query.after)
    statement = sql.SQL("SELECT {} FROM {}").format(_names(query.table.columns), qualified(query.table))
    statement += _where(conditions)
    if query.order:
        direction = sql.SQL(" DESC" if query.descending else "")
        columns = [sql.Identifier(column) + direction for column in query.order]
        statement += sql.SQL(" ORDER BY {}").format(sql.SQL(", ").join(columns))
    if query.limit is not None:
        statement += sql.SQL(" LIMIT {}").format(sql.Placeholder())
        parameters.append(query.limit)
    return statement, parameters


def totals(query: Totals) -> tuple[sql.Composed, list[Any]]:
    """The statement of a query for sums and its parameters."""
    conditions, parameters = _conditions(query.table, query.where)
    sums = [sql.SQL("sum({0})::bigint AS {0}").format(sql.Identifier(column)) for column in query.sums]
    group = sql.Identifier(query.group)
    statement = sql.SQL("SELECT {}, {} FROM {}").format(group, sql.SQL(", ").join(sums), qualified(query.table))
    statement += _where(conditions) + sql.SQL(" GROUP BY {0} ORDER BY {0}").format(group)
    return statement, parameters


def _where(conditions: list[sql.Composable]) -> sql.Composed:
    return sql.SQL(" WHERE {}").format(sql.SQL(" AND ").join(conditions)) if conditions else sql.Composed([])


def _conditions(table: Table, where: Mapping[str, Any]) -> tuple[list[sql.Composable], list[Any]]:
    conditions: list[sql.Composable] = []
    parameters: list[Any] = []
    for column, value in where.items():
        name = sql.Identifier(column)
        if value is None:
            conditions.append(sql.SQL("{} IS NULL").format(name))
        elif isinstance(value, tuple):
            conditions.append(sql.SQL("{} = ANY({}::{}[])").format(name, sql.Placeholder(), _base_type(table, column)))
            parameters.append(list(value))
        else:
            conditions.append(sql.SQL("{} = {}").format(name, sql.Placeholder()))
            parameters.append(value)
    return conditions, parameters
