"""
Serves Keystone, Placement, Glance or Neutron on loopback. Arguments: the name of the service and its port.

Each service is one process with one thread, because its database is an SQLite file, which has one
writer at a time. Exception: Glance has four threads, because an upload must not block its other requests.
"""
import os
import sys

service, port = sys.argv[1], int(sys.argv[2])
# The services read the arguments of their process.
sys.argv = [service]


def keystone():
    from keystone.server import wsgi

    return wsgi.initialize_public_application()


def placement():
    from placement import wsgi

    return wsgi.init_application()


def neutron():
    import eventlet

    eventlet.monkey_patch()
    from neutron.cmd.eventlet import server

    return server.main_api_eventlet()


if service == 'glance':
    import waitress
    from glance.common import wsgi_app

    waitress.serve(wsgi_app.init_app(), host='127.0.0.1', port=port, threads=4, max_request_body_size=1 << 40)
else:
    import eventlet
    import eventlet.wsgi

    application = {'keystone': keystone, 'placement': placement, 'neutron': neutron}[service]()
    # With SO_REUSEPORT, eventlet's default, two labs could share a port without an error.
    listener = eventlet.listen(('127.0.0.1', port), backlog=256, reuse_port=False)
    with open(os.devnull, 'w') as null:
        eventlet.wsgi.server(listener, application, log=null, debug=False)
