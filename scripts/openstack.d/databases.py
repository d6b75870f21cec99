"""Creates the databases of one service. Arguments: the name and the configuration file of the service."""
import sys

service, configuration = sys.argv[1:]
arguments = ['--config-file', configuration]


def keystone():
    from keystone.cmd import manage

    sys.argv = ['keystone-manage', *arguments, 'db_sync']
    manage.main()


def placement():
    from placement.cmd import manage

    sys.argv = ['placement-manage', *arguments, 'db', 'sync']
    return manage.main()


def glance():
    from glance.cmd import manage

    sys.argv = ['glance-manage', *arguments, 'db', 'sync']
    return manage.main()


def cinder():
    from cinder.cmd import manage

    sys.argv = ['cinder-manage', *arguments, 'db', 'sync']
    return manage.main()


def neutron():
    # Neutron's migrations do not support SQLite, so this function creates the newest tables directly.
    from neutron.common import config
    from neutron.db.migration.models import head
    from neutron_lib.db import api

    config.register_common_config_options()
    config.init(arguments)
    head.get_metadata().create_all(api.CONTEXT_WRITER.get_engine())


def nova():
    """Creates the API's database, cell0 (servers without a host) and cell1."""
    from nova import config, context, objects
    from nova.db import migration

    config.parse_args(['nova', *arguments])
    objects.register_all()
    migration.db_sync(database='api')
    admin = context.get_admin_context()
    # Nova replaces {scheme} and {path} by those of its configuration, so a copy of the databases works in another folder.
    connection = '{scheme}:////{path}'
    cell0 = objects.CellMapping(
        admin,
        uuid=objects.CellMapping.CELL0_UUID,
        name='cell0',
        transport_url='none:///',
        database_connection=f'{connection}_cell0',
    )
    cell0.create()
    with context.target_cell(admin, cell0) as context_of_cell0:
        migration.db_sync(database='main', context=context_of_cell0)
    migration.db_sync(database='main')
    objects.CellMapping(
        admin,
        uuid='11111111-1111-4111-8111-111111111111',
        name='cell1',
        transport_url='fake:/',
        database_connection=connection,
    ).create()


sys.exit(globals()[service]())
