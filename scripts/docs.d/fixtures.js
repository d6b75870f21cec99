/** The fixtures for the commands of a page, by their names in `<!-- commands: … -->`. */
import { execFileSync, spawn } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
  appendFileSync,
  openSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { startIronic } from './ironic.js';
import { startKvmHosts } from './kvm-hosts.js';

const ADDRESS = '192.0.2.1';

/** Runs shell lines, which must succeed. */
function sh(lines, folder) {
  execFileSync('bash', ['-euo', 'pipefail', '-c', lines], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Starts a bmc-daemon and waits until it answers at `address`. */
async function startDaemon({ repository, environment, log }, options, address) {
  const file = openSync(join(log, 'daemon'), 'w');
  const daemon = spawn(join(repository, 'bin/bmc-daemon'), options, {
    env: environment,
    stdio: ['ignore', file, file],
  });
  const answer = () =>
    execFileSync('node', [join(repository, 'scripts/start.d/ask.js'), address], { encoding: 'utf8' }).trim();
  while (answer() !== 'rackless') {
    if (daemon.exitCode !== null) throw new Error(`the page's bmc-daemon ended with status ${daemon.exitCode}`);
    await wait(100);
  }
}

function makeClone({ repository, folder }) {
  // Links folders, so that the clone is built, and copies files with their times, which show
  // whether the build is current.
  for (const entry of readdirSync(repository, { withFileTypes: true })) {
    const [from, to] = [join(repository, entry.name), join(folder, entry.name)];
    if (entry.isFile()) cpSync(from, to, { preserveTimestamps: true });
    else if (entry.name !== '.git') symlinkSync(from, to);
  }
}

function makeInstalled({ repository, environment }) {
  environment.PATH = `${join(repository, 'bin')}:${environment.PATH}`;
}

function makeProxyConfiguration({ repository, folder, environment }) {
  environment.UPSTREAM_API_KEY = 'secret';
  copyFileSync(join(repository, 'examples/model-proxy/config.yaml'), join(folder, 'config.yaml'));
  copyFileSync('/etc/ssl/certs/ca-certificates.crt', join(folder, 'ca.pem'));
}

function makeBmcConfiguration({ log }) {
  mkdirSync('/etc/bmc-daemon', { recursive: true });
  const lines = [
    "EMULATOR_LISTEN_IP = '127.0.0.1'",
    'EMULATOR_FAKE_DRIVER = True',
    `EMULATOR_STATE_DIR = '${log}/state'`,
  ];
  writeFileSync('/etc/bmc-daemon/bmc-daemon.conf', `${lines.join('\n')}\n`);
}

async function startOpenBmc(place) {
  await startDaemon(place, ['--fake', '--interface', '127.0.0.1'], 'http://127.0.0.1:8000/redfish/v1');
}

async function startBmc(place) {
  const { folder, environment, repository, log } = place;
  sh(`ip link add eth0 type veth peer name lan0
    ip address add ${ADDRESS}/24 dev eth0
    ip link set eth0 up
    ip link set lan0 up
    printf '192.0.2.50 web1-bmc\\n' >>/etc/hosts`);
  sh(
    `exec 2>${log}/openssl || { cat ${log}/openssl >&2; exit 1; }
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj '/CN=Authority' -keyout ca.key -out ca.pem
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=${ADDRESS} -keyout ${log}/key.pem -out ${log}/csr.pem \\
      -addext 'subjectAltName=IP:${ADDRESS},IP:192.0.2.50,DNS:web1-bmc'
    openssl x509 -req -in ${log}/csr.pem -CA ca.pem -CAkey ca.key -copy_extensions copy -days 2 -out old.pem
    cat old.pem ca.pem >${log}/cert.pem
    ${repository}/bin/bmc-daemon htpasswd ${log}/htpasswd admin <<<secret`,
    folder,
  );
  const settings = [
    `EMULATOR_SSL_CERT = '${log}/cert.pem'`,
    `EMULATOR_SSL_KEY = '${log}/key.pem'`,
    `EMULATOR_AUTH_FILE = '${log}/htpasswd'`,
    `EMULATOR_STATE_DIR = '${log}/state'`,
    'EMULATOR_FAKE_DRIVER = True',
  ];
  writeFileSync(join(log, 'bmc.conf'), `${settings.join('\n')}\n`);
  appendFileSync(join(environment.HOME, '.curlrc'), `cacert = "${folder}/ca.pem"\n`);
  environment.REQUESTS_CA_BUNDLE = join(folder, 'ca.pem');
  await startDaemon(place, ['--config', join(log, 'bmc.conf')], `https://${ADDRESS}:8000/redfish/v1`);
}

function startLibvirtd({ log }) {
  // The page has its own /etc, /run and /var/lib.
  sh(`mkdir -p /etc/libvirt /run/libvirt
    printf '%s\\n' 'auth_unix_rw = "none"' >/etc/libvirt/libvirtd.conf
    # tini reaps ended QEMU processes, for which libvirtd waits.
    setsid tini -s -- libvirtd --pid-file ${log}/libvirtd.pid </dev/null >${log}/libvirtd 2>&1 &
    for _ in $(seq 600); do
      if virsh -c test:///default version >/dev/null 2>&1 && [ -S /run/libvirt/libvirt-sock ]; then exit; fi
      sleep 0.1
    done
    exit 1`);
}

function startLab(place) {
  // Guests run as root, the owner of the page's folders. The page has no virtlogd, so libvirt writes the logs of guests
  // to files. libvirt sees the interfaces of the page's network namespace only in a /sys from that namespace.
  const qemu = [
    'user = "root"',
    'group = "root"',
    'security_driver = "none"',
    'cgroup_controllers = []',
    'namespaces = []',
  ];
  sh(`mkdir -p /etc/libvirt /var/log/libvirt
    rm -rf /etc/libvirt/qemu
    mount -t tmpfs tmpfs /var/log/libvirt
    mkdir /var/log/libvirt/qemu
    mount -t sysfs sysfs /sys
    ip link add br0 type bridge
    ip link set br0 up`);
  writeFileSync('/etc/libvirt/qemu.conf', `${[...qemu, 'stdio_handler = "file"', 'remember_owner = 0'].join('\n')}\n`);
  startLibvirtd(place);
  sh(`printf "<network><name>default</name><forward mode='bridge'/><bridge name='br0'/></network>" >/etc/libvirt/default.xml
    virsh -q -c qemu:///system net-define /etc/libvirt/default.xml
    virsh -q -c qemu:///system net-start default
    virsh -q -c qemu:///system pool-define-as default dir --target /var/lib/libvirt/images
    virsh -q -c qemu:///system pool-build default
    virsh -q -c qemu:///system pool-start default`);
}

export const FIXTURES = {
  clone: makeClone,
  installed: makeInstalled,
  'proxy-conf': makeProxyConfiguration,
  'bmc-conf': makeBmcConfiguration,
  'open-bmc': startOpenBmc,
  bmc: startBmc,
  libvirtd: startLibvirtd,
  lab: startLab,
  'kvm-hosts': startKvmHosts,
  ironic: startIronic,
};

/** The fixtures whose pages run at the same time as a systemd (systemd.sh). */
export const WITH_SYSTEMD = ['kvm-hosts'];
