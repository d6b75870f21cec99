"""
Runs Nova's API, conductor, scheduler, compute service and proxy for serial consoles in one process.

Arguments: nova.conf, the port of Nova's API, and the port of Placement, which must be open before Nova starts.

The services call each other through oslo.messaging's `fake` transport, so the lab needs no RabbitMQ.
"""
import os
import signal
import sys

configuration = sys.argv[1]
port, placement_port = map(int, sys.argv[2:])
os.environ.setdefault('EVENTLET_NO_GREENDNS', 'yes')
os.environ['OS_NOVA_CONFIG_FILES'] = ''

# Nova reads the console of a guest from its pseudoterminal, which becomes the terminal of this process.
# When the guest ends, the kernel sends SIGHUP, which must not end this process.
signal.signal(signal.SIGHUP, signal.SIG_IGN)

# First: this import patches the standard library for eventlet, as Nova's own commands do.
from nova import monkey_patch  # noqa: F401
import eventlet
import eventlet.wsgi
import nova.conf
import nova.virt
import os_vif
from nova import config, context, objects, service
from nova.api.openstack import wsgi_app
from nova.compute import rpcapi as compute_rpcapi
from nova.objects import host_mapping
from oslo_log import log as logging
from paste import deploy

from privileges import run_in_this_process
from serial_proxy import start_serial_proxy

# Nova loads its drivers only from this package.
nova.virt.__path__.append(os.path.join(os.path.dirname(__file__), 'plugins'))
CONF = nova.conf.CONF
config.parse_args(['nova', '--config-file', configuration])
logging.setup(CONF, 'nova')
objects.register_all()
os_vif.initialize()
objects.Service.enable_min_version_cache()
run_in_this_process('nova.privsep', 'os_brick.privileged', 'vif_plug_ovs.privsep', 'vif_plug_linux_bridge.privsep')


def start(binary, topic):
    started = service.Service.create(binary=binary, topic=topic)
    started.start()
    return started


def has_dependencies():
    if not os.path.exists(os.path.join(CONF.state_path, 'run', 'catalog.ready')):
        return False
    try:
        eventlet.connect(('127.0.0.1', placement_port)).close()
    except OSError:
        return False
    return True


while not has_dependencies():
    eventlet.sleep(0.1)
services = [start('nova-conductor', 'conductor'), start('nova-scheduler', 'scheduler')]
wsgi_app._setup_service(CONF.host, 'osapi_compute')
application = deploy.loadapp('config:' + CONF.wsgi.api_paste_config, name='osapi_compute')
listener = eventlet.listen(('127.0.0.1', port), backlog=256, reuse_port=False)
null = open(os.devnull, 'w')
eventlet.spawn(eventlet.wsgi.server, listener, application, log=null, debug=False)
services.append(start('nova-compute', compute_rpcapi.RPC_TOPIC))
if CONF.serial_console.enabled:
    start_serial_proxy(CONF.serial_console)
# Nova can create servers after the compute host belongs to a cell. Without this call, the scheduler adds the host later.
while not host_mapping.discover_hosts(context.get_admin_context()):
    eventlet.sleep(0.2)
open(os.path.join(CONF.state_path, 'run', 'nova.ready'), 'w').close()
while True:
    eventlet.sleep(3600)
