/** Brings a client into some state, says so, and leaves in one of two ways. Arguments: state, way, URI, pid of the daemon. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Hypervisor } from '../../../src/index.js';

const [, , state = '', way = '', uri = '', pid = ''] = process.argv;

/** Calls of every kind that nobody will answer. */
function callInVain(hypervisor: Hypervisor): void {
  const ignore = (): undefined => undefined;
  for (let count = 0; count < 8; count += 1) hypervisor.getHostname().catch(ignore);
  hypervisor.connected().catch(ignore);
}

/** @returns what `close` is called on; null in state `nothing`, the measure: a process without a client. */
async function enter(): Promise<Hypervisor | null> {
  switch (state) {
    case 'nothing':
      return null;
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

const hypervisor = await enter();
process.stdout.write('leaving\n', () => {
  if (way === 'exit') process.exit(0);
  void hypervisor?.close();
});
