/** The English texts of power actions. */

/** The texts of one power action. */
interface ResetTexts {
  readonly label: string;
  /** The title of the confirmation; undefined: the action needs none. */
  readonly question?: (name: string) => string;
  /** The things that the action loses. */
  readonly lost?: readonly string[];
}

const work = 'Unsaved work of the guest';
const writes = 'Writes that the guest has not flushed to its disks';
const connections = 'Network connections and consoles of the guest';

/** The power actions of Redfish by ResetType, in the order of the menu. */
export const resets: Readonly<Record<string, ResetTexts>> = {
  On: { label: 'Start' },
  ForceOn: { label: 'Start (forced)' },
  Resume: { label: 'Resume' },
  GracefulShutdown: {
    label: 'Shut down',
    question: (name) => `Shut down ${name}?`,
    lost: [connections],
  },
  GracefulRestart: {
    label: 'Restart',
    question: (name) => `Restart ${name}?`,
    lost: [connections],
  },
  PushPowerButton: {
    label: 'Press the power button',
    question: (name) => `Press the power button of ${name}?`,
    lost: ['Network connections and consoles of a running guest, unless it ignores the button'],
  },
  Pause: { label: 'Pause' },
  Suspend: { label: 'Suspend to disk', question: (name) => `Suspend ${name} to disk?`, lost: [connections] },
  Nmi: {
    label: 'Send an NMI',
    question: (name) => `Send a non-maskable interrupt to ${name}?`,
    lost: ['Many operating systems write a crash dump and stop: all unsaved work'],
  },
  ForceRestart: {
    label: 'Force restart',
    question: (name) => `Force a restart of ${name}?`,
    lost: [work, writes, connections],
  },
  PowerCycle: {
    label: 'Power cycle',
    question: (name) => `Turn ${name} off and on again?`,
    lost: [work, writes, connections],
  },
  FullPowerCycle: {
    label: 'Full power cycle',
    question: (name) => `Turn ${name} off and on again?`,
    lost: [work, writes, connections],
  },
  ForceOff: {
    label: 'Force off',
    question: (name) => `Force ${name} off?`,
    lost: [work, writes, connections],
  },
};

/** The other texts of power actions. */
export const powerTexts = {
  more: 'More actions',
  done: (label: string, name: string) => `${name} accepted “${label}”.`,
  failed: (label: string, reason: string) => `${label} failed. ${reason}`,
};
