"""Copies a server in Nova's databases, because building a thousand servers takes hours on a small host."""
import sqlite3
import uuid


class NoServer(Exception):
    """The databases have no server of this name."""


def add_copies(databases, name, count):
    """
    Adds `count` copies of the server `name`: `name-copy-1`, `name-copy-2`, … Nova may run at the same time. A
    copy has all rows of the server, except the events of its actions. It has no allocation in
    Placement, and shares the server's ports, so copy a server without a network interface.

    @param databases folder of `nova.sqlite` and `nova_api.sqlite`
    @raises NoServer
    """
    uuids = [str(uuid.uuid4()) for _ in range(count)]
    # A copy becomes visible with its mapping in the API's database, nova_api.sqlite. So this function writes the other
    # rows before.
    source = None
    for file in ('nova.sqlite', 'nova_api.sqlite'):
        with sqlite3.connect(databases / file, timeout=120) as database:
            source = source or _find(database, name)
            for table, columns in _tables_of_servers(database):
                _copy_rows(database, table, columns, source, uuids)


def _find(database, name):
    row = database.execute('SELECT uuid FROM instances WHERE display_name = ? AND deleted = 0', (name,)).fetchone()
    if row is None:
        raise NoServer(name)
    return row[0]


def _tables_of_servers(database):
    """Yields the tables whose rows belong to one server, with their columns."""
    tables = [name for name, in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for table in tables:
        columns = [row[1] for row in database.execute(f'PRAGMA table_info({table})')]
        if table == 'instances' or ('instance_uuid' in columns and not table.startswith('shadow_')):
            yield table, [column for column in columns if column != 'id']


def _copy_rows(database, table, columns, source, uuids):
    key = 'uuid' if table == 'instances' else 'instance_uuid'
    rows = database.execute(f'SELECT {", ".join(columns)} FROM {table} WHERE {key} = ?', (source,)).fetchall()
    insert = f'INSERT INTO {table} ({", ".join(columns)}) VALUES ({", ".join("?" * len(columns))})'
    for number, new in enumerate(uuids, 1):
        for row in rows:
            values = {column: _replaced(value, source, new) for column, value in zip(columns, row)}
            if table == 'instances':
                for column in ('display_name', 'hostname'):
                    values[column] = f'{values[column]}-copy-{number}'
            elif 'uuid' in values:
                # The id of the row itself, for example of a disk.
                values['uuid'] = str(uuid.uuid4())
            database.execute(insert, list(values.values()))


def _replaced(value, source, new):
    """Returns a value with the id of the copy. Nova stores some values as JSON."""
    return value.replace(source, new) if isinstance(value, str) else value
