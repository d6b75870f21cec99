/** Prints results of machines, as a table or as JSON. */
import { exitCode } from '@rackless/daemon/process/exit-code.js';
import type { MachineReport, Outcome } from '../../drivers/libvirt/lab/machine-report.js';

const UUID_COLUMNS = 36;
const OUTCOME_COLUMNS = 'unchanged'.length;

/** The results of one command. */
export class ReportPrinter {
  readonly #reports: MachineReport[] = [];
  readonly #json: boolean;
  readonly #nameColumns: number;
  readonly #expected: number;

  /** @param names the names of all machines of the command. */
  constructor({ json, names }: { readonly json: boolean; readonly names: readonly string[] }) {
    this.#json = json;
    this.#expected = names.length;
    this.#nameColumns = Math.max('NAME'.length, ...names.map((name) => name.length));
  }

  /** Adds the result of a machine. The table gets its line at once; JSON is printed at the end. */
  readonly add = (report: MachineReport): void => {
    this.#reports.push(report);
    if (this.#json) return;
    const { name, outcome, uuid, macAddresses, notes } = report;
    if (this.#reports.length === 1) this.#line('NAME', 'RESULT', 'UUID', 'MAC ADDRESSES');
    this.#line(name, outcome, uuid ?? '-', macAddresses.join(' ') || '-');
    for (const note of notes) process.stdout.write(`  ${note}\n`);
  };

  /**
   * Prints the summary of the table, or the JSON with all results.
   * @returns the exit code: 1 if a machine failed or differs, or if the command was interrupted before the
   *   last machine.
   */
  finish(signal: AbortSignal): number {
    const interrupted = signal.aborted && this.#reports.length < this.#expected;
    if (this.#json) process.stdout.write(`${JSON.stringify({ machines: this.#reports }, null, 2)}\n`);
    else this.#summary();
    if (interrupted) process.stderr.write('bmc-daemon: interrupted: run the command again for the other machines\n');
    const isBad = ({ outcome }: MachineReport): boolean => outcome === 'failed' || outcome === 'differs';
    return interrupted || this.#reports.some(isBad) ? exitCode.failed : exitCode.done;
  }

  #line(name: string, outcome: string, uuid: string, macs: string): void {
    const columns = [name.padEnd(this.#nameColumns), outcome.padEnd(OUTCOME_COLUMNS), uuid.padEnd(UUID_COLUMNS), macs];
    process.stdout.write(`${columns.join('  ').trimEnd()}\n`);
  }

  #summary(): void {
    const counts = new Map<Outcome, number>();
    for (const { outcome } of this.#reports) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    const parts = [...counts].map(([outcome, count]) => `${count} ${outcome}`);
    process.stdout.write(`${parts.join(', ')}\n`);
  }
}

/** Prints advice to standard error, so that it is not part of JSON. */
export function advise(sentence: string): void {
  process.stderr.write(`bmc-daemon: ${sentence}\n`);
}
