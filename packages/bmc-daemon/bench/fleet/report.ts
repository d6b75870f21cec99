/** Prints the figures of a fleet, and compares them with the goals. */
import type { Figures } from './figures.js';
import { latencyText } from './latency.js';

/** Maximum values. */
const goals = { collectionMs: 50, expandMs: 2_000, stormMs: 100, memoryMiB: 350 };

/**
 * Prints the figures.
 * @param few the figures of another daemon with few machines, in the same run.
 * @returns whether all figures are within their goals, and no GET of the daemon and no start has failed.
 */
export function report(what: string, figures: Figures, few?: Figures): boolean {
  const { collection, bareCollection, idle, storm, bareStorm, memory } = figures;
  console.log(what);
  console.log(`  GET /Systems       ${latencyText(collection)}`);
  console.log(`    bare server      ${latencyText(bareCollection)}`);
  console.log(`  GET of a machine   ${latencyText(idle)}`);
  console.log(`    in a storm       ${latencyText(storm)}`);
  console.log(`    bare collection  ${latencyText(bareStorm)}`);
  const answers = Object.entries(figures.statuses).map(([status, count]) => `${count} x ${status}`);
  console.log(`  storms             ${figures.stormSeconds.toFixed(1)} s each, answers ${answers.join(', ')}`);
  console.log(`  memory             ${memory.now.toFixed(0)} MiB at the end, ${memory.peak.toFixed(0)} at most`);
  console.log(
    `  $expand            ${figures.firstExpandMs.toFixed(0)} ms of CPU first, ${figures.expandMs.toFixed(0)} later`,
  );
  if (few !== undefined) printRatios(figures, few);
  return [
    check('p99 of GET /Systems, without waits', collection.ownP99Ms, goals.collectionMs, 'ms'),
    check('CPU of the first $expand', figures.firstExpandMs, goals.expandMs, 'ms'),
    check('p99 in a storm, without waits', storm.ownP99Ms, goals.stormMs, 'ms'),
    check('memory', memory.peak, goals.memoryMiB, 'MiB'),
    check('failed GETs', collection.failed + idle.failed + storm.failed, 0, ''),
    check('failed starts', failedStarts(figures), 0, ''),
  ].every(Boolean);
}

function printRatios(figures: Figures, few: Figures): void {
  const ratio = (value: number, other: number): string => (value / other).toFixed(2);
  console.log('  ratios');
  console.log(
    `    GET /Systems, daemon / bare server, p50                ${ratio(figures.collection.p50Ms, figures.bareCollection.p50Ms)}`,
  );
  console.log(
    `    GET of a machine, many machines / few machines, p50    ${ratio(figures.idle.p50Ms, few.idle.p50Ms)}`,
  );
  console.log(
    `    GET of a machine in a storm / bare collection, p99     ${ratio(figures.storm.p99Ms, figures.bareStorm.p99Ms)}`,
  );
  console.log(
    `    memory, many machines / few machines                   ${ratio(figures.memory.peak, few.memory.peak)}`,
  );
}

function failedStarts({ statuses }: Figures): number {
  return Object.entries(statuses).reduce((sum, [status, count]) => (/^20[024]$/.test(status) ? sum : sum + count), 0);
}

/** Prints whether a value is within its goal, which is a maximum. @returns whether it is. */
export function check(what: string, value: number, goal: number, unit: string): boolean {
  const isMet = value <= goal;
  console.log(`  ${what.padEnd(35)} ${value.toFixed(0).padStart(6)} ${unit}, goal ${goal}${isMet ? '' : '  MISSED'}`);
  return isMet;
}
