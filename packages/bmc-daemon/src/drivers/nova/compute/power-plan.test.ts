import { describe, expect, it } from '@jest/globals';
import type { PowerAction } from '../../power.js';
import { planAction } from './power-plan.js';
import type { Server } from './server.js';
import { snapshotOf } from './snapshot.js';

function server(vmState: string, powerState: number, task: string | null = null): Server {
  const flavor = { name: 'm1', vcpus: 2, ramMiB: 512, diskGiB: 1, ephemeralGiB: 0, swapMiB: 0, secureBoot: undefined };
  return {
    id: 'u',
    name: 'web',
    description: null,
    metadata: {},
    tags: [],
    flavor,
    imageId: 'i',
    fault: null,
    volumeIds: [],
    macs: [],
    task,
    vmState,
    powerState,
  };
}

const states = {
  active: server('active', 1),
  stopped: server('stopped', 4),
  paused: server('paused', 3),
  suspended: server('suspended', 4),
  shelved: server('shelved_offloaded', 4),
  rescued: server('rescued', 1),
  failed: server('error', 0),
  haltedByGuest: server('active', 4),
  poweringOff: server('active', 1, 'powering-off'),
  rebooting: server('active', 1, 'reboot_started_hard'),
  shelving: server('active', 1, 'shelving_image_uploading'),
  confirming: server('resized', 1, 'resize_confirming'),
  snapshotting: server('active', 1, 'image_uploading'),
  snapshottingWhileOff: server('stopped', 4, 'image_uploading'),
  unpausing: server('paused', 3, 'unpausing'),
  pausing: server('active', 1, 'pausing'),
  resizingWhileOff: server('stopped', 4, 'resize_migrating'),
  poweringOn: server('stopped', 4, 'powering-on'),
} as const;

/**
 * Returns Nova's action, with `(no wait)` if the driver does not wait for its result; `-` if no action is
 * necessary; `join` if the driver only waits; or the kind of the error.
 */
function planned(action: PowerAction, state: keyof typeof states): string {
  try {
    const plan = planAction(action, states[state]);
    if (plan === undefined) return '-';
    if (plan.body === undefined) return 'join';
    const [[name, value] = []] = Object.entries(plan.body);
    const type = (value as { readonly type?: string } | null)?.type; // only `reboot` has a type
    return `${name ?? ''}${type === undefined ? '' : ` ${type}`}${plan.goal === undefined ? ' (no wait)' : ''}`;
  } catch (error) {
    return (error as { readonly kind: string }).kind; // planAction throws DriverError only
  }
}

describe('power actions become actions of Nova', () => {
  const columns = [
    'create',
    'destroy',
    'shutdown',
    'reboot',
    'reset',
    'injectNmi',
    'suspend',
    'resume',
    'pmSuspend',
  ] as const;
  const soft = 'reboot SOFT (no wait)';
  const stop = 'os-stop (no wait)';
  const nmi = 'trigger_crash_dump (no wait)';
  const hard = 'reboot HARD';
  const no = 'conflict';
  it.each<[keyof typeof states, readonly string[]]>([
    ['active', ['-', 'os-stop', stop, soft, hard, nmi, 'pause', '-', 'suspend']],
    ['stopped', ['os-start', '-', no, no, hard, no, no, no, no]],
    ['paused', ['unpause', 'os-stop', stop, soft, hard, nmi, '-', 'unpause', 'suspend']],
    ['suspended', ['resume', '-', no, no, hard, no, no, 'resume', '-']],
    ['shelved', ['unshelve', '-', no, no, hard, no, no, no, no]],
    ['rescued', ['-', 'os-stop', stop, soft, hard, nmi, 'pause', '-', 'suspend']],
    ['failed', ['os-start', '-', no, no, hard, no, no, no, no]],
    ['haltedByGuest', [hard, '-', no, no, hard, no, no, no, no]],
    ['poweringOff', ['unavailable', 'join', '-', soft, hard, nmi, 'pause', '-', 'suspend']],
    ['rebooting', ['join', 'os-stop', stop, soft, hard, nmi, 'pause', '-', 'suspend']],
    ['shelving', ['unavailable', 'os-stop', stop, soft, hard, nmi, 'pause', '-', 'suspend']],
    ['confirming', ['-', 'os-stop', stop, soft, hard, nmi, 'pause', '-', 'suspend']],
    ['snapshotting', ['-', 'os-stop', stop, soft, hard, nmi, 'pause', '-', 'suspend']],
    ['snapshottingWhileOff', ['unavailable', 'os-stop', no, no, hard, no, no, no, no]],
    ['unpausing', ['join', 'os-stop', stop, soft, hard, nmi, '-', 'unpause', 'suspend']],
    ['pausing', ['unavailable', 'os-stop', stop, soft, hard, nmi, 'pause', '-', 'suspend']],
    ['resizingWhileOff', ['unavailable', 'os-stop', no, no, hard, no, no, no, no]],
    ['poweringOn', ['join', 'os-stop', no, no, hard, no, no, no, no]],
  ])('for a server that is %s', (state, expected) => {
    expect(columns.map((action) => planned(action, state))).toEqual(expected);
  });
});

describe('snapshots', () => {
  it.each<[string, number, string | null, object]>([
    ['active', 1, null, { state: 'running' }],
    ['active', 0, null, { state: 'running' }],
    ['active', 4, null, { state: 'shutoff' }],
    ['active', 6, null, { state: 'crashed' }],
    ['active', 1, 'powering-off', { state: 'shutdown' }],
    ['active', 1, 'reboot_started_hard', { state: 'running', starting: true }],
    ['active', 1, 'image_uploading', { state: 'running' }],
    ['active', 1, 'deleting', { state: 'shutdown' }],
    ['stopped', 4, null, { state: 'shutoff' }],
    ['stopped', 4, 'powering-on', { state: 'shutoff', starting: true }],
    ['paused', 3, null, { state: 'paused' }],
    ['suspended', 4, null, { state: 'shutoff' }],
    ['rescued', 1, null, { state: 'running' }],
    ['building', 0, 'spawning', { state: 'shutoff', starting: true }],
    ['error', 0, null, { state: 'shutoff', failure: 'crashed' }],
    ['error', 1, null, { state: 'running', failure: 'crashed' }],
  ])('show a server in %s, power state %d, task %s', (vmState, powerState, task, expected) => {
    const { state, starting, failure } = snapshotOf(server(vmState, powerState, task), undefined);
    expect({ state, ...(starting && { starting }), ...(failure && { failure }) }).toEqual(expected);
  });

  const on = { state: 'running', starting: true };
  const off = { state: 'shutdown' };
  const unchanged = { state: 'running' };
  it.each<[object, readonly string[]]>([
    [on, ['scheduling', 'block_device_mapping', 'networking', 'spawning', 'powering-on', 'resuming', 'restoring']],
    [on, ['rebooting', 'reboot_pending', 'reboot_started']],
    [on, ['rebooting_hard', 'reboot_pending_hard', 'reboot_started_hard']],
    [on, ['rescuing', 'unrescuing', 'unshelving', 'rebuilding', 'rebuild_block_device_mapping', 'rebuild_spawning']],
    [on, ['resize_migrating', 'resize_migrated', 'resize_finish', 'resize_reverting']],
    [off, ['powering-off', 'suspending', 'deleting', 'soft-deleting']],
    [off, ['shelving', 'shelving_image_pending_upload', 'shelving_image_uploading', 'shelving_offloading']],
    [unchanged, ['image_snapshot', 'image_snapshot_pending', 'image_pending_upload', 'image_uploading']],
    [unchanged, ['image_backup', 'updating_password', 'pausing', 'unpausing', 'migrating']],
    [unchanged, ['resize_prep', 'resize_confirming']],
    // Tasks that the driver does not know, for example of other versions of Nova.
    [unchanged, ['attaching', 'detaching', 'pre-warming', '']],
  ])('show %j for a running server with one of the tasks %j', (expected, tasks) => {
    for (const task of tasks) {
      const { state, starting } = snapshotOf(server('active', 1, task), undefined);
      expect([task, { state, ...(starting && { starting }) }]).toEqual([task, expected]);
    }
  });

  it.each(['resize_migrating', 'resize_migrated', 'resize_finish', 'rebuilding', 'rebuild_spawning'])(
    'show no start of a server that is off and stays off after the task %s',
    (task) => {
      const { state, starting } = snapshotOf(server('stopped', 4, task), undefined);
      expect([state, starting]).toEqual(['shutoff', undefined]);
    },
  );

  it('show the flavor, and all ports if they are known', () => {
    const { active } = states;
    const mac = 'fa:16:3e:00:00:01';
    const withoutPorts = snapshotOf({ ...active, macs: [mac] }, undefined);
    expect(withoutPorts).toMatchObject({
      memoryKiB: 524_288,
      processors: { count: 2 },
      interfaces: [{ mac, linkUp: true }],
    });
    const ports = [{ mac: 'fa:16:3e:00:00:02', network: 'n', isActive: false }];
    expect(snapshotOf({ ...active, macs: [mac] }, ports).interfaces).toEqual([
      { mac: 'fa:16:3e:00:00:02', type: 'network', source: 'n', model: null, linkUp: false },
    ]);
  });
});
