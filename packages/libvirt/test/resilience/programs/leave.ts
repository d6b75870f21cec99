/**
 * Brings a client into some state and leaves in one of two ways. Says what still keeps the process alive after `close`.
 * Arguments: state, way, URI, pid of the daemon.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { Hypervisor } from '../../../src/index.js';

const [, , state = '', way = '', uri = '', pid = ''] = process.argv;

/** Calls of every kind that nobody will answer. */
function callInVain(hypervisor: Hypervisor): void {
  const ignore = (): undefined => undefined;
  for (let count = 0; count < 8; count += 1) hypervisor.getHostname().catch(ignore);
  hypervisor.connected().catch(ignore);
}

/** @returns what `close` is called on. */
async function enter(): Promise<Hypervisor> {
  switch (state) {
    case 'idle':
      return await Hypervisor.open(uri);
    case 'listening': {
      const hypervisor = await Hypervisor.open(uri);
      await hypervisor.events.on('lifecycle', () => undefined).ready;
      void hypervisor.events.iterate('lifecycle').next();
      return hypervisor;
    }
    case 'hung': {
      const hypervisor = await Hypervisor.open(uri);
      const [domain] = await hypervisor.listAllDomains();
      await domain?.getState();
      process.kill(Number(pid), 'SIGSTOP');
      callInVain(hypervisor);
      domain?.reset().catch(() => undefined);
      await sleep(20);
      return hypervisor;
    }
    case 'away': {
      const hypervisor = Hypervisor.connect('test+unix:///default?socket=/nonexistent/libvirt-sock');
      callInVain(hypervisor);
      while (hypervisor.lastError === null) await sleep(5);
      return hypervisor;
    }
    case 'uploading': {
      const hypervisor = await Hypervisor.open(uri);
      const pool = await hypervisor.storagePoolLookupByName('images');
      const stream = await (await pool.storageVolLookupByName('disk')).upload();
      stream.on('error', () => undefined);
      process.kill(Number(pid), 'SIGSTOP');
      // More than the operating system takes for a daemon that does not read.
      stream.write(Buffer.alloc(16_777_216));
      await sleep(20);
      return hypervisor;
    }
    default:
      throw new Error(`no such state: ${state}`);
  }
}

// Reading them opens the pipes of this process's output, which stay.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
const own = process.getActiveResourcesInfo().length;
const hypervisor = await enter();
if (way === 'exit') process.exit(0);
await hypervisor.close();
// Closed sockets are gone some turns later.
for (let turn = 0; turn < 100; turn += 1) await nextTurn();
process.stdout.write(JSON.stringify(process.getActiveResourcesInfo().slice(own)));
