/**
 * Detects changed files. A file may be rewritten, or replaced by a rename, or a link to it may
 * change (Kubernetes changes the link when it updates a ConfigMap). The watch polls: kernel notifications stop when
 * the watched file is replaced, and network and container file systems often send none.
 */
import { statSync, type BigIntStats } from 'node:fs';
import { stat } from 'node:fs/promises';

/** Options of {@link watchFiles}. */
interface FileWatchOptions {
  /** Absolute paths. */
  readonly files: readonly string[];
  /**
   * Called when files have changed and then stayed the same for one interval: their writer has
   * probably finished.
   */
  readonly onChange: () => void;
  readonly intervalMs?: number;
}

/** A running watch. */
export interface FileWatch {
  /**
   * Records the current state of the files. Call this before you read the files, so that the watch
   * notices a change while you read.
   */
  mark(): void;
  /** Replaces the list of files. Records the current state only of files that were not in the list. */
  replace(files: readonly string[]): void;
  close(): void;
}

const INTERVAL_MS = 1000;

/** Starts watching. The watch does not keep the process alive. */
export function watchFiles({ files, onChange, intervalMs = INTERVAL_MS }: FileWatchOptions): FileWatch {
  /** File → fingerprint of its recorded state: at the last change that was reported, or at `mark` or `replace`. */
  let watched = new Map<string, string>();
  /** State of the files at the last poll, if it differed from the recorded state. */
  let pending: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  const recordedState = () => [...watched.values()].join('\n');
  const poll = async (): Promise<void> => {
    const seen = watched;
    const fingerprints = await Promise.all([...seen.keys()].map(fingerprintOf));
    // mark, replace or close was called in the meantime, so these states are out of date.
    if (closed || watched !== seen) return;
    const state = fingerprints.join('\n');
    if (state === recordedState()) {
      pending = undefined;
    } else if (state === pending) {
      pending = undefined;
      watched = new Map([...seen.keys()].map((file, index) => [file, fingerprints[index] ?? '']));
      onChange();
    } else {
      pending = state;
    }
  };
  const schedule = () => {
    if (closed) return;
    timer = setTimeout(() => void poll().finally(schedule), intervalMs);
    timer.unref();
  };
  const mark = (paths: Iterable<string>) => {
    watched = new Map([...paths].map((file) => [file, fingerprintNow(file)]));
    pending = undefined;
  };

  mark(files);
  schedule();
  return {
    mark: () => mark(watched.keys()),
    replace(next) {
      watched = new Map(next.map((file) => [file, watched.get(file) ?? fingerprintNow(file)]));
      pending = undefined;
    },
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/** Returns a fingerprint of the file at the end of all links. */
async function fingerprintOf(file: string): Promise<string> {
  try {
    return formatFingerprint(await stat(file, { bigint: true }));
  } catch {
    return 'none'; // missing, or stat fails: both count as the same state
  }
}

function fingerprintNow(file: string): string {
  try {
    return formatFingerprint(statSync(file, { bigint: true }));
  } catch {
    return 'none';
  }
}

function formatFingerprint({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
}
