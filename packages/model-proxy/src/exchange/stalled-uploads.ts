/**
 * Finds clients that stop in the middle of their request. Node's `requestTimeout` limits the time
 * of a whole request, which a large request over a slow connection would exceed. A timer for each
 * chunk would cost more than the chunk. So a single timer checks all requests.
 */

import { InFlight, type Tracked } from '../in-flight.js';
import { abandon } from './answer/refusal.js';
import type { Exchange } from './exchange.js';

/** A request whose body is arriving. */
export interface Upload extends Tracked {
  /** The owner sets this to true with each chunk. */
  isMoving: boolean;
  /** Called if no chunk came between two checks. The upload is then not watched anymore, unless the owner adds it. */
  onStall(): void;
}

/**
 * Time between checks. A stalled upload ends 30 to 60 seconds after its last chunk, unless the proxy has paused it.
 */
const CHECK_INTERVAL_MS = 30_000;

/** The uploads that are watched. */
interface Uploads {
  /** Watches an upload. If no chunk comes, calls {@link Upload.onStall} after one to two intervals. */
  add(upload: Upload): void;
  remove(upload: Upload): void;
}

/**
 * Watches uploads. The timer runs from the first upload to the first check without uploads, and does not keep the
 * process alive.
 * @param intervalMs time between checks.
 */
export function watchUploads(intervalMs: number = CHECK_INTERVAL_MS): Uploads {
  const uploads = new InFlight<Upload>();
  let timer: NodeJS.Timeout | undefined;
  const check = (): void => {
    for (const upload of uploads.list()) {
      if (upload.isMoving) upload.isMoving = false;
      else {
        uploads.delete(upload);
        upload.onStall();
      }
    }
    if (uploads.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
  return {
    add: (upload) => {
      upload.isMoving = true;
      uploads.add(upload);
      timer ??= setInterval(check, intervalMs).unref();
    },
    remove: (upload) => uploads.delete(upload),
  };
}

/** All uploads of the process: they share a timer. */
const uploads = watchUploads();

/**
 * Watches the body of a request. Answers 408 to a client that stops sending, or breaks off an answer that has begun.
 * The watch ends with the body or with the response.
 * @returns the upload. The caller sets {@link Upload.isMoving} with each chunk.
 */
export function watchUpload(exchange: Exchange): Pick<Upload, 'isMoving'> {
  const { request, response } = exchange;
  const upload: Upload = {
    inFlightIndex: -1,
    isMoving: true,
    onStall: () => {
      // A paused client waits for the upstream to read. It does not stall.
      if (request.isPaused() && !response.destroyed) uploads.add(upload);
      else abandon(exchange);
    },
  };
  uploads.add(upload);
  const remove = (): void => uploads.remove(upload);
  // A client that closes its connection sends no end. Its body must not stay in memory until the
  // next check.
  response.on('close', remove);
  request.on('end', remove);
  return upload;
}
