/** Shows how far the tasks of machines are, in one line of a terminal. */
import { cutLine } from '@rackless/daemon/text/plain-text.js';
import type { Terminal } from '../output/terminal.js';
import type { TaskProgress } from '../redfish/task.js';

const BAR_COLUMNS = 20;
const DEFAULT_COLUMNS = 80;

/**
 * The progress of the tasks of several machines. If several tasks run, the line shows their average, in which a task
 * without a percentage counts as 0 %. Shows nothing if standard error is not a terminal.
 */
export class ProgressBars {
  readonly #terminal: Terminal;
  readonly #running = new Map<object, { readonly label: string; readonly progress: TaskProgress }>();

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Shows the progress of one machine. */
  show(machine: object, label: string, progress: TaskProgress): void {
    this.#running.set(machine, { label, progress });
    this.#draw();
  }

  /** Removes one machine from the line. Removes the line if no other task runs. */
  end(machine: object): void {
    if (this.#running.delete(machine)) this.#draw();
  }

  #draw(): void {
    const bars = [...this.#running.values()];
    const [first, ...others] = bars;
    if (first === undefined) {
      this.#terminal.clearStatus();
      return;
    }
    const line =
      others.length === 0
        ? `${first.label} ${renderProgress(first.progress)}`
        : `${bars.length} tasks ${renderProgress(average(bars.map(({ progress }) => progress)))}`;
    this.#terminal.showStatus(cutLine(line, (this.#terminal.streams.stderr.columns || DEFAULT_COLUMNS) - 1));
  }
}

function average(all: readonly TaskProgress[]): TaskProgress {
  const percents = all.map(({ percent }) => percent ?? 0);
  return { percent: percents.reduce((sum, percent) => sum + percent, 0) / percents.length, state: 'Running' };
}

/** Renders `[#####---------------]  25 % Running`, or only the state if the service reports no percentage. */
function renderProgress({ percent, state }: TaskProgress): string {
  if (percent === undefined) return state;
  const bounded = Math.min(100, Math.max(0, percent));
  const filled = Math.round((bounded / 100) * BAR_COLUMNS);
  return `[${'#'.repeat(filled)}${'-'.repeat(BAR_COLUMNS - filled)}] ${String(Math.round(bounded)).padStart(3)} % ${state}`;
}
