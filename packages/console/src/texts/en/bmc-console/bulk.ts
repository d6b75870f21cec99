/** The English texts of actions on several machines. */
const count = (machines: number): string =>
  machines === 1 ? '1 machine' : `${machines.toLocaleString('en')} machines`;

/** The texts of the bar, of the dialogs before an action, and of its results (`job`). */
export const bulkTexts = {
  bar: 'Actions for the selected machines',
  selected: (number: number) => `${number.toLocaleString('en')} selected`,
  hidden: (number: number) => `${number.toLocaleString('en')} more hidden by the filters`,
  busy: 'Wait until the running action ends, or stop it.',
  clear: 'Clear the selection',
  /** Verbs for buttons. */
  verbs: {
    On: 'Start',
    GracefulShutdown: 'Shut down',
    ForceRestart: 'Force restart',
    ForceOff: 'Force off',
    boot: 'Boot override',
    eject: 'Eject media',
  },
  titles: {
    On: (machines: number) => `Start ${count(machines)}?`,
    GracefulShutdown: (machines: number) => `Shut down ${count(machines)}?`,
    ForceRestart: (machines: number) => `Force a restart of ${count(machines)}?`,
    ForceOff: (machines: number) => `Force ${count(machines)} off?`,
    boot: (machines: number) => `Set the boot override of ${count(machines)}`,
    eject: (machines: number) => `Eject the media of ${count(machines)}?`,
  },
  lost: {
    On: [],
    GracefulShutdown: ['The services of these guests. A guest that ignores the request stays on.'],
    ForceRestart: [
      'Unsaved work in these guests',
      'Data that a guest has not written to its disks. File systems may need a repair.',
    ],
    ForceOff: [
      'Unsaved work in these guests, and their services',
      'Data that a guest has not written to its disks. File systems may need a repair.',
    ],
    eject: ['The images in the drives. A guest that boots from or reads an image fails.'],
  },
  replaced: (machines: number) => `The current boot override of ${count(machines)}`,
  machines: 'Machines',
  more: (machines: number) => `and ${machines.toLocaleString('en')} more`,
  skipped: (machines: number) => `${count(machines)} skipped:`,
  nothing: 'This action changes none of the selected machines.',
  bootTarget: 'Boot from',
  bootEnabled: 'Applies',
  bootOnce: 'Once, at the next start',
  bootContinuous: 'At each start',
  bootOwn: 'Boot order (no override)',
  bootHint: 'A machine that is on uses the override when it starts again.',
  apply: 'Apply',
  reasons: {
    alreadyOn: 'already on',
    alreadyOff: 'already off',
    isOff: 'off',
    notOffered: 'the machine does not offer this action',
    noImage: 'no image inserted',
  },
  job: {
    title: (verb: string, machines: number) => `${verb}: ${count(machines)}`,
    progress: 'Progress',
    progressDetail: (done: number, all: number, failed: number) =>
      `${done} of ${all}${failed === 0 ? '' : `, ${failed} failed`}`,
    table: 'Results',
    machine: 'Machine',
    result: 'Result',
    now: 'Power',
    stop: 'Stop',
    stopHint: 'Machines that wait are not changed. Running requests continue.',
    lost: 'The rest of the running action. Machines that wait are not changed.',
    close: 'Close',
    background: 'Continue in the background',
    retry: (machines: number) => `Try ${count(machines)} again`,
    selectFailed: 'Select the failed machines',
    show: (verb: string, done: number, all: number) => `${verb}: ${done} of ${all}`,
    failedOnly: 'Show failed machines only',
    noFailed: 'No machine has failed.',
    states: {
      waiting: 'Waiting',
      running: 'Running …',
      done: 'Done',
      failed: 'Failed',
      skipped: 'Skipped',
      stopped: 'Not started',
    },
    accepted: 'Done. The guest decides when it turns off.',
    finished: (done: number, failed: number, skipped: number) =>
      `Finished: ${done} done, ${failed} failed, ${skipped} skipped.`,
  },
};
