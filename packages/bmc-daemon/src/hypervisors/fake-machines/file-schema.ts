/** The format of a machine file: docs/reference/fake-machines.md. */
import { z } from 'zod';
import { effects, machineOperations, type FailingOperation } from '../../drivers/fake/fake-plan.js';

/** Maximum number of machines in a file: a typing error in `count` must not fill the memory. */
export const MAX_MACHINES = 100_000;
/** Maximum duration in seconds. */
const MAX_SECONDS = 1_000_000;
const MAX_NICS = 64;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const MAC = /^[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}$/i;

/** Returns a type with only two messages: `is missing`, or `must be` with the expected value. */
function value<T>(type: z.ZodType<T>, expected: string) {
  return z.unknown().transform((given, context): T => {
    const result = type.safeParse(given);
    if (result.success) return result.data;
    context.addIssue({ code: 'custom', message: given === undefined ? 'is missing' : `must be ${expected}` });
    return z.NEVER;
  });
}

const integer = (min: number, max: number) => value(z.int().min(min).max(max), `an integer from ${min} to ${max}`);
const text = value(z.string().min(1), 'a text');
const boolean = value(z.boolean(), 'true or false');
const oneOf = <const T extends string>(values: readonly T[]) => value(z.enum(values), `one of ${values.join(', ')}`);

const seconds = z.number().min(0).max(MAX_SECONDS);
const range = z
  .tuple([seconds, seconds])
  .refine(([min, max]) => min <= max)
  .readonly();
const duration = value(
  z.union([seconds, range]),
  `seconds from 0 to ${MAX_SECONDS}, or [shortest, longest] with the shortest first`,
);
const time = value(seconds, `seconds from 0 to ${MAX_SECONDS}`);
const share = value(z.number().gt(0).max(1), 'a number above 0, up to 1');

/** The same rules as for libvirt's names of domains. URIs contain the name, so its maximum is 255 characters. */
const name = value(
  z.string().regex(/^[^/\p{Cc}]{1,255}$/u),
  'a text of 1 to 255 characters, without slashes and control characters',
);

/** Accepts booleans too, because YAML 1.1 reads `On` and `Off` without quotes as booleans. */
const powerState = value(
  z.union([z.enum(['On', 'Off']), z.boolean()]).transform((state) => (state === true || state === 'On' ? 'On' : 'Off')),
  'On or Off',
);

const nic = z.strictObject({
  mac: value(z.string().regex(MAC), 'a MAC address in quotes, such as "52:54:00:00:00:01"'),
  ip: text.optional(),
});

/** A number of interfaces, or a list. A union would not say which interface is wrong. */
const nics = z.unknown().transform((given, context) => {
  const type = Array.isArray(given) ? z.array(nic) : integer(0, MAX_NICS);
  const result = type.safeParse(given);
  if (result.success) return result.data;
  for (const issue of result.error.issues) context.addIssue({ ...issue });
  return z.NEVER;
});

const delays = z.strictObject({
  power_on: duration.optional(),
  power_off: duration.optional(),
  shutdown: duration.optional(),
  reset: duration.optional(),
  insert: duration.optional(),
  eject: duration.optional(),
  change: duration.optional(),
  read: duration.optional(),
});

/** Defines a failure of a machine, or of the whole service. */
const failureWith = <const Operation extends FailingOperation>(operations: readonly Operation[]) =>
  z
    .strictObject({
      effect: oneOf(effects),
      operation: oneOf(operations).optional(),
      after: time.optional(),
      for: time.optional(),
      calls: value(
        z.union([
          z
            .int()
            .min(1)
            .transform((call) => [call]),
          z.array(z.int().min(1)).min(1),
        ]),
        'the number of a call from 1, or a list of such numbers',
      ).optional(),
      every: integer(1, 1_000_000).optional(),
      share: share.optional(),
      machine_share: share.optional(),
      lasts: duration.optional(),
    })
    .superRefine((given, context) => {
      const fault = (member: string, message: string) => context.addIssue({ code: 'custom', path: [member], message });
      const { effect, operation } = given;
      if (effect === 'slow' && given.lasts === undefined)
        fault('effect', "needs the member 'lasts', the delay of the answer");
      if (effect === 'vanish' && operation === 'list') fault('operation', 'must be an operation of a machine');
      if (effect !== 'vanish' && operation === undefined)
        fault('effect', "needs an operation, such as 'any' for all operations of a machine");
      if (operation !== undefined) return;
      for (const member of ['for', 'calls', 'every', 'share'] as const)
        if (given[member] !== undefined)
          fault(member, 'applies to calls of an operation, so the failure needs an operation');
    });

const machineFailures = z.array(failureWith([...machineOperations, 'any'])).optional();
const commonFailures = z.array(failureWith([...machineOperations, 'any', 'list'])).optional();

/** Members that can differ between the machines of an entry. */
const machine = {
  power_state: powerState.optional(),
  boot_mode: oneOf(['UEFI', 'Legacy']).optional(),
  boot_device: oneOf(['Pxe', 'Hdd', 'Cd']).optional(),
  secure_boot: boolean.optional(),
  external_notifier: boolean.optional(),
  nics: nics.optional(),
  cpus: integer(1, 4096).optional(),
  memory_mib: integer(1, 2 ** 30).optional(),
  disks_gib: value(
    z.array(z.number().gt(0).max(1_000_000)).max(24),
    'a list of up to 24 sizes in GiB, such as [480, 960]',
  ).optional(),
  manufacturer: text.optional(),
  model: text.optional(),
  serial_number: text.optional(),
  delays: delays.optional(),
  failures: machineFailures,
};

const uuid = value(z.string().regex(UUID), 'a UUID').optional();

const entry = z.strictObject({
  name,
  uuid,
  count: integer(1, MAX_MACHINES).optional(),
  first: integer(0, 1_000_000_000).optional(),
  ...machine,
  overrides: z.record(z.string(), z.strictObject({ uuid, ...machine })).optional(),
});

/** A machine file. */
export const machineFile = z.strictObject({
  seed: integer(0, 2 ** 31).optional(),
  delays: delays.optional(),
  failures: commonFailures,
  machines: z.array(entry),
});

type MachineFile = z.infer<typeof machineFile>;
/** An entry for one or many machines. */
export type FileEntry = MachineFile['machines'][number];
/**
 * The members of one machine of an entry. An override replaces the members that it has. But its failures are added,
 * and each of its delays replaces only the delay with the same name.
 */
export type MachineMembers = NonNullable<FileEntry['overrides']>[string];
/** A planned failure, with times in seconds. */
export type FileFailure = NonNullable<MachineFile['failures']>[number];
/** Delays in seconds. */
export type FileDelays = NonNullable<MachineFile['delays']>;
