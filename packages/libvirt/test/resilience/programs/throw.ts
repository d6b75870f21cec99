/**
 * Throws in listeners. Prints the uncaught errors, the calls of a second listener, and the state of the
 * client. Argument: URI.
 */
import { Hypervisor } from '../../../src/index.js';

const [, , uri = ''] = process.argv;
const seen: string[] = [];
process.on('uncaughtException', (error) => seen.push(`uncaught: ${error.message}`));

const hypervisor = await Hypervisor.open(uri);
hypervisor.onStateChange(() => {
  throw new Error('from the state');
});
await hypervisor.events.on('lifecycle', () => {
  throw new Error('from the event');
}).ready;
const other = new Promise<void>((resolve) => {
  hypervisor.events.on('lifecycle', () => {
    seen.push('second listener');
    resolve();
  });
});
const [domain] = await hypervisor.listAllDomains();
await domain?.suspend();
await other;
await domain?.resume();
seen.push(`state: ${hypervisor.state}`);
await hypervisor.close();
process.stdout.write(JSON.stringify([...new Set(seen)].sort()));
