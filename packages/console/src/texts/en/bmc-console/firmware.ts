/** The texts of a change of Secure Boot. */
interface SecureBootChange {
  /** The text of its button. */
  readonly label: string;
  /** The title of the confirmation, with the name of the machine. */
  readonly question: (name: string) => string;
  /** The things that the change loses. */
  readonly lost: readonly string[];
}

const variables =
  'Signed UEFI variables, and all other variables (such as boot entries) if the service cannot copy them';

/** The English texts of the tab Firmware. */
export const firmwareTexts = {
  settings: 'Firmware settings',
  hint: 'Changes apply at the next start of the machine.',
  pending: (count: number) =>
    count === 1 ? '1 setting changes at the next start.' : `${count} settings change at the next start.`,
  now: (value: string) => `Now: ${value}`,
  range: (low: number, high: number | undefined) => (high === undefined ? `At least ${low}.` : `${low} to ${high}.`),
  on: 'On',
  off: 'Off',
  none: 'nothing',
  unset: 'Not set',
  save: 'Save for the next start',
  reset: 'Reset to defaults',
  resetQuestion: (name: string) => `Reset the firmware settings of ${name}?`,
  resetLost: ['All settings that differ from the defaults', 'Settings that wait for the next start'],
  resetDone: 'The defaults apply at the next start.',
  noBios: 'This machine has no firmware settings',
  secureBoot: 'Secure Boot',
  nextBoot: 'At the next start',
  currentBoot: 'In the running boot',
  mode: 'Mode',
  modes: {
    SetupMode: 'Setup: no keys are enrolled',
    UserMode: 'User: keys are enrolled',
    AuditMode: 'Audit',
    DeployedMode: 'Deployed',
  } as Readonly<Record<string, string>>,
  boots: { Enabled: 'On', Disabled: 'Off' } as Readonly<Record<string, string>>,
  changes: {
    enable: {
      label: 'Turn on',
      question: (name) => `Turn on Secure Boot of ${name} at its next start?`,
      lost: [variables, 'The start of systems whose boot loader has no valid signature'],
    },
    disable: {
      label: 'Turn off',
      question: (name) => `Turn off Secure Boot of ${name} at its next start?`,
      lost: [variables, 'The check of signatures: the machine then starts any system'],
    },
    ResetAllKeysToDefault: {
      label: 'Enroll the default keys',
      question: (name) => `Enroll the default keys of ${name}?`,
      lost: ['Keys that the guest or you enrolled', variables],
    },
    DeleteAllKeys: {
      label: 'Delete all keys',
      question: (name) => `Delete all Secure Boot keys of ${name}?`,
      lost: ['All enrolled keys: Secure Boot stays off until keys are enrolled', variables],
    },
  } as Readonly<Record<string, SecureBootChange>>,
};
