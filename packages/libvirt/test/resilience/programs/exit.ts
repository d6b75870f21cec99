/**
 * Brings a client into a state. Then exits, or closes the client and prints the resources that keep the process
 * alive. Arguments: state, `exit` or `close`, URI, pid of libvirtd.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { Hypervisor } from '../../../src/index.js';

const [, , state = '', ending = '', uri = '', pid = ''] = process.argv;

/** Makes calls that libvirtd will not answer. */
function makeHangingCalls(hypervisor: Hypervisor): void {
  const ignore = (): undefined => undefined;
  for (let count = 0; count < 8; count += 1) hypervisor.getHostname().catch(ignore);
  hypervisor.connected().catch(ignore);
}

/** Brings a client into the state. */
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
      makeHangingCalls(hypervisor);
      domain?.reset().catch(() => undefined);
      // The client sends the calls in this time.
      await sleep(20);
      return hypervisor;
    }
    case 'disconnected': {
      const hypervisor = Hypervisor.connect('test+unix:///default?socket=/nonexistent/libvirt-sock');
      makeHangingCalls(hypervisor);
      while (hypervisor.lastError === null) await sleep(5);
      return hypervisor;
    }
    case 'uploading': {
      const hypervisor = await Hypervisor.open(uri);
      const pool = await hypervisor.storagePoolLookupByName('images');
      const stream = await (await pool.storageVolLookupByName('disk')).upload();
      stream.on('error', () => undefined);
      process.kill(Number(pid), 'SIGSTOP');
      // This is more than the socket buffers can hold.
      stream.write(Buffer.alloc(16_777_216));
      await sleep(20);
      return hypervisor;
    }
    default:
      throw new Error(`no such state: ${state}`);
  }
}

// The first access opens the output pipes, which remain open.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
const hypervisor = await enter();
if (ending === 'exit') process.exit(0);
await hypervisor.close();
// Node removes closed sockets a few event loop iterations later.
for (let turn = 0; turn < 100; turn += 1) await nextTurn();
const left = process.getActiveResourcesInfo();
// The result omits the two output pipes.
for (let output = 0; output < 2; output += 1) left.splice(left.indexOf('PipeWrap'), 1);
process.stdout.write(JSON.stringify(left));
