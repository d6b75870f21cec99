/**
 * Detects changed files, whether they were rewritten, replaced by a rename, or reached through
 * links that have changed (Kubernetes updates a ConfigMap this way). The watch polls: kernel
 * notifications stop when the watched file is replaced, and network and container file systems
 * often have none.
 */
import { statSync, type BigIntStats } from 'node:fs';
import { stat } from 'node:fs/promises';

/** Options of {@link watchFiles}. */
interface FileWatchOptions {
  /** Absolute paths. */
  readonly files: readonly string[];
  /**
   * Called when files have changed and then stayed the same for one interval, so that their writer
   * has finished.
   */
  readonly onChange: () => void;
  readonly intervalMs?: number;
}

/** A running watch. */
export interface FileWatch {
  /**
   * Takes the current state as unchanged. Call it before reading the files, so that later changes
   * count.
   */
  mark(): void;
  /** Replaces the list of files. New files count as unchanged. */
  replace(files: readonly string[]): void;
  close(): void;
}

const INTERVAL_MS = 1000;

/** Starts watching. The watch does not keep the process alive. */
export function watchFiles({ files, onChange, intervalMs = INTERVAL_MS }: FileWatchOptions): FileWatch {
  let watched = new Map<string, string>();
  /** State of the files at the last poll, if it differed from the known state. */
  let pending: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  const known = () => [...watched.values()].join('\n');
  const look = async (): Promise<void> => {
    const seen = watched;
    const prints = await Promise.all([...seen.keys()].map(printOf));
    // mark, replace or close was called in the meantime.
    if (closed || watched !== seen) return;
    const print = prints.join('\n');
    if (print === known()) {
      pending = undefined;
    } else if (print === pending) {
      pending = undefined;
      watched = new Map([...seen.keys()].map((file, index) => [file, prints[index] ?? '']));
      onChange();
    } else {
      pending = print;
    }
  };
  const schedule = () => {
    if (closed) return;
    timer = setTimeout(() => void look().finally(schedule), intervalMs);
    timer.unref();
  };
  const mark = (paths: Iterable<string>) => {
    watched = new Map([...paths].map((file) => [file, printNow(file)]));
    pending = undefined;
  };

  mark(files);
  schedule();
  return {
    mark: () => mark(watched.keys()),
    replace(next) {
      watched = new Map(next.map((file) => [file, watched.get(file) ?? printNow(file)]));
      pending = undefined;
    },
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/** Returns a fingerprint of a file. It follows links, because the content behind them counts. */
async function printOf(file: string): Promise<string> {
  try {
    return print(await stat(file, { bigint: true }));
  } catch {
    return 'none'; // missing or not readable: either counts as a change
  }
}

function printNow(file: string): string {
  try {
    return print(statSync(file, { bigint: true }));
  } catch {
    return 'none';
  }
}

function print({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
}
