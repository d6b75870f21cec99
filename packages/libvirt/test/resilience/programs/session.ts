/** Connects to the URI and prints the type and the URI of the hypervisor. Argument: URI. */
import { Hypervisor } from '../../../src/index.js';

const [, , uri = ''] = process.argv;
const hypervisor = await Hypervisor.open(uri);
const reached = { type: await hypervisor.getType(), uri: await hypervisor.getUri() };
process.stdout.write(JSON.stringify(reached));
await hypervisor.close();
