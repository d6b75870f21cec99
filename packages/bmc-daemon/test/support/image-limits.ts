/** Limits for downloads from image servers. Tests do not reach them, even on a busy host. */
import type { ImageServerLimits } from '../../src/media/image-client.js';

/** The limits. Times are in milliseconds. */
export const imageLimits: ImageServerLimits = {
  connectTimeoutMs: 60_000,
  answerTimeoutMs: 120_000,
  idleTimeoutMs: 60_000,
  downloadTimeoutMs: 600_000,
  maxBytes: 1_000_000_000,
};
