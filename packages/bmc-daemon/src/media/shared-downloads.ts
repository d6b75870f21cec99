/** Downloads of images for several callers. Callers with the same key share one download. */
import { abortAtDeadline, type TimeLimit } from './image-deadline.js';
import { storedUrl, type ImageRequest } from './image.js';

/** Receives 0 to 100 during a download. */
type ProgressListener = (percent: number) => void;

/** Measures the progress of a download. */
interface ProgressMeter {
  /** Null: unknown, so the meter reports nothing. */
  sizeBytes: number | null;
  /** @param bytes the number of bytes so far. */
  received(bytes: number): void;
}

/** The parameters of a running download. */
export interface DownloadContext {
  /** Aborts when no caller waits anymore, or after {@link SharedDownloads.abort}. */
  readonly signal: AbortSignal;
  readonly meter: ProgressMeter;
}

/** The parameters of one caller that waits for a download. */
interface DownloadWaiter<Result, Taken> {
  /** The limit of this caller's wait. Each caller has its own, because callers join a download at different times. */
  readonly timeLimit: TimeLimit;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ProgressListener | undefined;
  /**
   * Called in the same tick in which the download ends, so that no other code can remove its result
   * first.
   */
  readonly take: (result: Result) => Promise<Taken>;
}

/** One download and the number of its waiting callers. */
interface Download<Result> {
  readonly result: Promise<Result>;
  readonly listeners: Set<ProgressListener>;
  readonly controller: AbortController;
  waiting: number;
}

/**
 * Returns the key of a download. It contains the credentials, so that a client without access to
 * the server does not get the image.
 * @param others further values that distinguish downloads.
 */
export function downloadKey(image: ImageRequest, ...others: readonly unknown[]): string {
  const { userName, password, verifyCertificate, authorities = [] } = image;
  return JSON.stringify([storedUrl(image.url), userName, password, verifyCertificate, authorities, ...others]);
}

/** The running downloads into one storage pool or one cloud, for all callers. */
export class SharedDownloads<Result> {
  readonly #downloads = new Map<string, Download<Result>>();
  readonly #closing = new AbortController();

  /**
   * Waits for the download of a key. Begins a download if none runs for the key. The download ends
   * when no caller waits anymore.
   * @throws what `begin` and `take` throw; the signal's reason; {ImageError} at the deadline.
   */
  async join<Taken>(
    key: string,
    begin: (context: DownloadContext) => Promise<Result>,
    { timeLimit, signal, onProgress, take }: DownloadWaiter<Result, Taken>,
  ): Promise<Taken> {
    signal?.throwIfAborted();
    const download = this.#findOrBegin(key, begin);
    if (onProgress !== undefined) download.listeners.add(onProgress);
    try {
      return await take(await abortAtDeadline(timeLimit, signal, (within) => abortable(download.result, within)));
    } finally {
      if (onProgress !== undefined) download.listeners.delete(onProgress);
      download.waiting -= 1;
      if (download.waiting === 0) download.controller.abort();
    }
  }

  /** Aborts all downloads, also those that begin later. */
  abort(reason: Error): void {
    this.#closing.abort(reason);
  }

  /** Resolves when all downloads have ended. */
  async whenSettled(): Promise<void> {
    await Promise.allSettled([...this.#downloads.values()].map(({ result }) => result));
  }

  #findOrBegin(key: string, begin: (context: DownloadContext) => Promise<Result>): Download<Result> {
    const running = this.#downloads.get(key);
    if (running !== undefined && !running.controller.signal.aborted) {
      running.waiting += 1;
      return running;
    }
    const controller = new AbortController();
    const listeners = new Set<ProgressListener>();
    const signal = AbortSignal.any([controller.signal, this.#closing.signal]);
    const result = begin({ signal, meter: progressMeter(listeners) });
    const download: Download<Result> = { result, listeners, controller, waiting: 1 };
    this.#downloads.set(key, download);
    const forget = (): void => {
      if (this.#downloads.get(key) === download) this.#downloads.delete(key);
    };
    result.then(forget, forget);
    return download;
  }
}

function progressMeter(listeners: ReadonlySet<ProgressListener>): ProgressMeter {
  let reported = -1;
  return {
    sizeBytes: null,
    received(bytes) {
      if (this.sizeBytes === null || this.sizeBytes === 0) return;
      const percent = Math.floor((bytes * 100) / this.sizeBytes);
      if (percent !== reported) for (const listener of listeners) listener(percent);
      reported = percent;
    },
  };
}

/** Returns the result of the promise. Throws the signal's reason if the signal aborts first. */
async function abortable<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  signal.throwIfAborted();
  return await new Promise<Value>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
