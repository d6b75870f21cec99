/** Limits of image servers for tests, which even a busy machine does not reach. */
import type { ImageServerLimits } from '../../src/media/image-client.js';

/** The limits. Times are in milliseconds. */
export const imageLimits: ImageServerLimits = {
  connectTimeoutMs: 60_000,
  answerTimeoutMs: 120_000,
  idleTimeoutMs: 60_000,
  downloadTimeoutMs: 600_000,
  maxBytes: 1_000_000_000,
};
