/**
 * Clients that stop in the middle of their request. Node's limit is for whole requests, which a large one over a thin line would
 * break; a timer for each piece would cost more than the piece. So one timer looks at all of them now and then.
 */

import { InFlight, type Tracked } from '../in-flight.js';

/** A request that is being received. */
export interface Upload extends Tracked {
  /** Set with each piece that comes. */
  isMoving: boolean;
  /** Nothing has come for a long time. Called once, and the upload is forgotten. */
  onStall(): void;
}

/** One without a piece between two looks has stalled for 30 to 60 seconds. */
const LOOK_MS = 30_000;

export interface Uploads {
  add(upload: Upload): void;
  remove(upload: Upload): void;
}

/** @param lookMs how often to look. The timer runs while there is something to look at, and keeps no process alive. */
export function watchUploads(lookMs: number = LOOK_MS): Uploads {
  const uploads = new InFlight<Upload>();
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => {
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
      uploads.add(upload);
      timer ??= setInterval(look, lookMs).unref();
    },
    remove: (upload) => uploads.delete(upload),
  };
}
