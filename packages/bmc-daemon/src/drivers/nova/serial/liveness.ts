/** Decides at regular times whether a connection needs a ping, or has lost its peer. */

/** The state of one connection. The caller calls `next` at regular times. */
interface Liveness {
  /** Call this when a message arrives. */
  readonly heard: () => void;
  /** Call this when the reply to a ping arrives. */
  readonly replied: () => void;
  /**
   * Returns the next step. `ping`: no message has arrived since the last step. `end`: neither a message nor a reply
   * has arrived since a ping.
   */
  readonly next: () => 'wait' | 'ping' | 'end';
}

/** Creates the state of a connection that has just opened. */
export function createLiveness(): Liveness {
  let hasHeard = true;
  let isAsked = false;
  return {
    heard: () => {
      hasHeard = true;
    },
    replied: () => {
      isAsked = false;
    },
    next: () => {
      if (isAsked && !hasHeard) return 'end';
      isAsked = !hasHeard;
      hasHeard = false;
      return isAsked ? 'ping' : 'wait';
    },
  };
}
