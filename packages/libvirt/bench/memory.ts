/**
 * Prints the resident memory and the heap during 200,000 calls and 20,000 failing calls, after each tenth.
 *
 *     npm run bench:memory -w @rackless/libvirt
 */
import { Hypervisor, isLibvirtError } from '../src/index.js';
import { startLibvirtd } from '../test/harness/libvirtd.js';

const CALLS = Number(process.argv[2] ?? 200_000);
const STEPS = 10;
const IN_FLIGHT = 64;

async function inParallel(total: number, work: () => Promise<unknown>): Promise<void> {
  let left = total;
  const worker = async (): Promise<void> => {
    for (; left > 0; left -= 1) await work();
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
}

const mib = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)} MiB`;

const daemon = await startLibvirtd({ driver: 'test' });
const hypervisor = await Hypervisor.open(daemon.uri);
const [domain] = await hypervisor.listAllDomains();
if (domain === undefined) throw new Error('the test driver has no domain');
console.log(`start: ${mib(process.memoryUsage.rss())} resident`);
for (let step = 1; step <= STEPS; step += 1) {
  await inParallel(CALLS / STEPS, () => domain.getXmlDesc());
  await inParallel(CALLS / STEPS / 10, () =>
    hypervisor.domainLookupByName('absent').catch((error: unknown) => {
      if (!isLibvirtError(error, 'NO_DOMAIN')) throw error;
    }),
  );
  const { rss, heapUsed } = process.memoryUsage();
  console.log(`${(CALLS / STEPS) * step} calls: ${mib(rss)} resident, ${mib(heapUsed)} heap`);
}
await hypervisor.close();
await daemon.stop();
