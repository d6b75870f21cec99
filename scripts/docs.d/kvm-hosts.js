/** Four libvirt hosts with sshd and systemd, for docs/guides/three-hosts.md: kvm-1 to kvm-4 at 192.0.2.11 to .14. */
import { execFileSync, spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

const HOSTS = ['kvm-1', 'kvm-2', 'kvm-3', 'kvm-4'];
const NETWORK = '192.0.2';
const MANAGEMENT = 'bmc.example';

const run = (command, ...words) => execFileSync(command, words, { stdio: ['ignore', 'ignore', 'inherit'] });

async function startHost(name, address, { repository, log }) {
  const folder = join(log, name);
  mkdirSync(folder);
  run('ip', 'netns', 'add', name);
  run('ip', ...`link add v-${name} master lan0 up type veth peer name eth0 netns ${name}`.split(' '));
  const output = openSync(join(folder, 'output'), 'w');
  const words = ['netns', 'exec', name, 'unshare', '--mount', join(repository, 'scripts/docs.d/kvm-host.sh')];
  const host = spawn('ip', [...words, name, address, folder], { stdio: ['ignore', output, output] });
  while (!existsSync(join(folder, 'started'))) {
    if (host.exitCode !== null) throw new Error(`${name}: ${readFileSync(join(folder, 'output'), 'utf8')}`);
    await wait(50);
  }
  const key = readFileSync(join(folder, 'host_key.pub'), 'utf8');
  appendFileSync('/root/.ssh/known_hosts', `${name} ${key}`);
}

/** Starts the libvirt hosts. The reader is root of a host without libvirt, and can log in to the libvirt hosts. */
export async function startKvmHosts(place) {
  const { log, environment, repository } = place;
  environment.HOME = '/root';
  run(
    'bash',
    '-euc',
    `rm -rf /root/.ssh
    mkdir -m 700 /root/.ssh
    ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519
    cp /root/.ssh/id_ed25519.pub ${log}/key.pub
    hostname ${MANAGEMENT.split('.')[0]}
    mkdir -p /run/netns /opt/rackless
    mount --bind ${repository} /opt/rackless
    ip link add lan0 type bridge
    ip link set lan0 up
    ip address add ${NETWORK}.10/24 dev lan0`,
  );
  const addresses = HOSTS.map((name, index) => ({ name, address: `${NETWORK}.${11 + index}` }));
  const lines = [{ name: MANAGEMENT, address: `${NETWORK}.10` }, ...addresses];
  appendFileSync('/etc/hosts', lines.map(({ name, address }) => `${address} ${name}\n`).join(''));
  await Promise.all(addresses.map(({ name, address }) => startHost(name, address, place)));
}
