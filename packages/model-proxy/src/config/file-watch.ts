/**
 * Notices that files have changed, however they were: written in place, replaced by a rename, or through links that point elsewhere now (as
 * Kubernetes changes a ConfigMap). They are looked at again and again: notifications of the kernel are lost with the file that was watched, and
 * file systems of networks and containers have none.
 */
import { statSync, type BigIntStats } from 'node:fs';
import { stat } from 'node:fs/promises';

export interface FileWatchOptions {
  /** Absolute paths. */
  readonly files: readonly string[];
  /** Called when something has changed and then stayed as it is for one interval: whoever writes has finished. */
  readonly onChange: () => void;
  readonly intervalMs?: number;
}

export interface FileWatch {
  /** To be called before files are read: what changes from now on is a change. */
  mark(): void;
  /** Looks at these from now on; those that are new count as unchanged. */
  replace(files: readonly string[]): void;
  close(): void;
}

const INTERVAL_MS = 1000;

/** Starts watching. It keeps no process alive. */
export function watchFiles({ files, onChange, intervalMs = INTERVAL_MS }: FileWatchOptions): FileWatch {
  let watched = new Map<string, string>();
  /** What the files were at the last look, where that was not what is known. */
  let pending: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  const known = () => [...watched.values()].join('\n');
  const look = async (): Promise<void> => {
    const seen = watched;
    const prints = await Promise.all([...seen.keys()].map(printOf));
    // Marked, replaced or closed meanwhile.
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

/** Links are followed: it is what they lead to that is read. */
async function printOf(file: string): Promise<string> {
  try {
    return print(await stat(file, { bigint: true }));
  } catch {
    return 'none'; // gone, or no longer readable: both are changes
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
