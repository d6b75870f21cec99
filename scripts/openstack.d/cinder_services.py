"""
Runs Cinder's API, scheduler and volume service in one process. Arguments: cinder.conf, port.

The three call each other through oslo.messaging's `fake` transport, as the services of Nova do.
"""
import os
import sys

configuration, port = sys.argv[1], int(sys.argv[2])
sys.argv = ['cinder']
os.environ.setdefault('EVENTLET_NO_GREENDNS', 'yes')

import eventlet

eventlet.monkey_patch()

import eventlet.wsgi
from cinder import objects, rpc, service, version
from cinder.common import config  # noqa: F401 (registers options)
from cinder.volume import configuration as volume_configuration  # noqa: F401 (registers options)
from oslo_config import cfg
from oslo_log import log as logging
from oslo_service import wsgi

from privileges import run_in_this_process

CONF = cfg.CONF
logging.register_options(CONF)
wsgi.register_opts(CONF)
CONF(['--config-file', configuration], project='cinder', version=version.version_string())
logging.setup(CONF, 'cinder')
objects.register_all()
run_in_this_process('cinder.privsep', 'os_brick.privileged')
rpc.init(CONF)


def start(binary, host):
    backend = host.partition('@')[2] or None
    started = service.Service.create(binary=binary, host=host, service_name=backend, coordination=backend is not None)
    started.start()
    return started


services = [start('cinder-scheduler', CONF.host), start('cinder-volume', f'{CONF.host}@files')]
application = wsgi.Loader(CONF).load_app('osapi_volume')
listener = eventlet.listen(('127.0.0.1', port), backlog=256, reuse_port=False)
with open(os.devnull, 'w') as null:
    eventlet.wsgi.server(listener, application, log=null, debug=False)
