/**
 * Makes calls, a tenth of which fail, and prints the used memory in bytes before and after.
 * Arguments: URI, number of calls.
 */
import { Hypervisor, isLibvirtError } from '../../../src/index.js';

const [, , uri = '', count = ''] = process.argv;
const IN_FLIGHT = 64;
const WARM_UP = 5_000;

const hypervisor = await Hypervisor.open(uri);
const [domain] = await hypervisor.listAllDomains();
if (domain === undefined) throw new Error('there is no domain');

async function calls(total: number): Promise<void> {
  let left = total;
  const worker = async (): Promise<void> => {
    for (; left > 0; left -= 1) {
      if (left % 10 > 0) await domain?.getXmlDesc();
      else {
        await hypervisor.domainLookupByName('absent').catch((error: unknown) => {
          if (!isLibvirtError(error, 'NO_DOMAIN')) throw error;
        });
      }
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
}

function bytesInUse(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

await calls(WARM_UP);
const before = bytesInUse();
await calls(Number(count));
process.stdout.write(JSON.stringify({ before, after: bytesInUse() }));
await hypervisor.close();
