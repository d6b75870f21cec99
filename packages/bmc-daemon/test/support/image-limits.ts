/** Limits of image servers for tests, longer than a busy machine holds a test back. */
import type { ImageServerLimits } from '../../src/media/image-server.js';

export const imageLimits: ImageServerLimits = {
  connectTimeoutMs: 60_000,
  answerTimeoutMs: 120_000,
  idleTimeoutMs: 60_000,
  downloadTimeoutMs: 600_000,
  maxBytes: 1_000_000_000,
};
