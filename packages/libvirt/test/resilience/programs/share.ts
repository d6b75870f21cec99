/**
 * Shares one AbortSignal between many calls and iterators, and aborts it. Prints how many calls failed
 * (`failures`), how many iterators rejected (`rejected`), and Node's warnings. Argument: URI.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Hypervisor, isLibvirtError } from '../../../src/index.js';

const [, , uri = ''] = process.argv;
const warnings: string[] = [];
process.on('warning', (warning) => warnings.push(warning.message));

const hypervisor = await Hypervisor.open(uri);
const [domain] = await hypervisor.listAllDomains();
if (domain === undefined) throw new Error('there is no domain');
const controller = new AbortController();
const { signal } = controller;
// The iterators come before the calls, because a call disables Node's MaxListenersExceededWarning for the signal.
const iterators = Array.from({ length: 20 }, () => hypervisor.events.iterate('lifecycle', { signal }).next());
const calls = Array.from({ length: 100 }, (_, number) =>
  number % 2 === 0 ? hypervisor.getHostname({ signal }) : domain.suspend({ signal }),
);
controller.abort();
const results = await Promise.allSettled(calls);
const rejected = (await Promise.allSettled(iterators)).filter(({ status }) => status === 'rejected').length;
const failures = results.filter((result) => result.status === 'rejected' && isLibvirtError(result.reason)).length;
// Node emits warnings on the next tick.
await nextTurn();
process.stdout.write(JSON.stringify({ failures, rejected, warnings }));
await hypervisor.close();
