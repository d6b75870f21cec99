/**
 * Checks settings against each other and against the host: whether the files that they name exist
 * and are valid, and whether they have an effect. The daemon runs the check at its start and at each
 * reload, and `bmc-daemon check` runs it too.
 */
import { statSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { isLoopback } from '@rackless/daemon/network/loopback.js';
import { fileReason, readTextFile } from '@rackless/daemon/files/text-file.js';
import { loadTls, TlsFilesError } from '@rackless/daemon/network/tls.js';
import { PasswordFileError, readPasswordFile } from '../password-file/password-file.js';
import { MachineFileError, readMachineFile, type MachineFile } from '../hypervisors/fake-machines/machine-file.js';
import { isOnThisHost } from '../drivers/libvirt/connection-uri.js';
import { hostFaults, urisOf } from '../drivers/libvirt/host-list.js';
import { CloudError } from '../drivers/nova/cloud/cloud-error.js';
import { readCloud } from '../drivers/nova/cloud/cloud-settings.js';
import { storageKey } from '../resources/chassis/configured-inventory.js';
import type { Environment } from './environment.js';
import type { LoadedSettings } from './load.js';
import { formatKey } from './python/format.js';
import type { BootLoaderMap } from './rows/contract.js';
import { settingsTable, type SettingKey, type Settings } from './settings.js';

/**
 * One line for each fault and warning. A line begins with its place if it has one, as in
 * {@link LoadedSettings}.
 */
export interface Inspection {
  readonly faults: readonly string[];
  readonly warnings: readonly string[];
  /** The contents of EMULATOR_FAKE_MACHINES, so that the driver need not read them again; null: no file, or faults. */
  readonly machineFile: MachineFile | null;
}

/** The loaded settings that the check uses. */
type Inspected = Pick<LoadedSettings, 'settings' | 'origins' | 'unknown'>;

const noVariables: Environment = {};

/**
 * Checks the settings and the files that they name, except templates of UEFI variables and the client
 * certificate of notifications. Changes nothing and opens no connection.
 * @param environment variables that name the files of OpenStack's clients.
 */
export function inspectSettings(loaded: Inspected, environment = noVariables): Inspection {
  const { settings, origins, unknown } = loaded;
  const faults: string[] = [];
  const warnings: string[] = [];
  const messageFor = (key: SettingKey, sentence: string) => `${startOfMessage(loaded, key)} ${sentence}`;

  faults.push(...cloudFaults(loaded, environment, messageFor));
  if (settings.ironicCloud !== null)
    faults.push(messageFor('ironicCloud', 'is set, and there is no Ironic backend yet'));
  // The fake driver and a cloud need no host.
  const needsHost = !settings.fakeDriver && settings.osCloud === null;
  if (needsHost) faults.push(...libvirtUriFaults(loaded));
  // The value of a setting in `unknown` may not be the intended one. So checks that compare settings, or report
  // missing ones, skip it.
  const areKnown = (...keys: readonly SettingKey[]) => keys.every((key) => !unknown.has(key));
  if (areKnown('sslCert', 'sslKey')) faults.push(...inspectTls(settings, messageFor));
  if (areKnown('authFile', 'listenIp') || settings.authFile !== null)
    inspectPasswordFile(settings, messageFor, faults, warnings);
  for (const key of ['vmediaCaFile', 'notificationCaFile'] as const) {
    const file = settings[key];
    const reason = file === null ? undefined : caFileFault(file);
    if (reason !== undefined) faults.push(messageFor(key, `cannot be used: ${file}: ${reason}`));
  }
  const { notificationCertFile: cert, notificationKeyFile: key } = settings;
  if ((cert === null) !== (key === null) && areKnown('notificationCertFile', 'notificationKeyFile')) {
    const [set, missing] = cert === null ? (['Key', 'Cert'] as const) : (['Cert', 'Key'] as const);
    const name = settingsTable[`notification${missing}File`].name;
    faults.push(messageFor(`notification${set}File`, `is set and ${name} is not: a client certificate needs both`));
  }
  if (!settings.fakeDriver && areKnown('fakeDriver')) {
    const unusedKeys = [
      ...((settings.fakeSystems ?? []).length > 0 ? (['fakeSystems'] as const) : []),
      ...(settings.fakeMachines === null ? [] : (['fakeMachines'] as const)),
    ];
    for (const key of unusedKeys)
      warnings.push(messageFor(key, 'has no effect without EMULATOR_FAKE_DRIVER or --fake'));
  }
  const machineFile = inspectMachineFile(settings, messageFor, faults);
  const storeFault = settings.sharedStore === null ? undefined : storeUrlFault(settings.sharedStore);
  if (storeFault !== undefined) faults.push(messageFor('sharedStore', `cannot be used: ${storeFault}`));
  // Without the setting, a smaller feature set needs no warning, because the default is True.
  const wantsLog = settings.consoleLog && origins.consoleLog !== 'default';
  if (wantsLog && settings.featureSet !== 'full' && areKnown('consoleLog', 'featureSet'))
    warnings.push(
      messageFor('consoleLog', `has no effect with the feature set ${settings.featureSet}: only full has console logs`),
    );
  if (settings.osFilter !== null && settings.osCloud === null && areKnown('osCloud'))
    warnings.push(messageFor('osFilter', 'has no effect without EMULATOR_OS_CLOUD or --os-cloud'));
  if (settings.allowedInstances?.length === 0)
    warnings.push(messageFor('allowedInstances', 'is empty: no machine is served'));
  if (settings.vmediaAllowedHosts?.length === 0)
    warnings.push(messageFor('vmediaAllowedHosts', 'is empty: no image can be inserted; None allows every host'));
  if (Object.keys(settings.vmediaDevices).length === 0)
    warnings.push(messageFor('vmediaDevices', 'is empty: no machine has a virtual media drive'));
  if (areKnown('storage')) {
    for (const key of ['drives', 'volumes'] as const) {
      for (const sentence of missingStorages(settings, key)) warnings.push(messageFor(key, sentence));
    }
  }
  // The daemon cannot see the firmware files of another host.
  const usesThisHost = needsHost && urisOf(settings.libvirtUri).some(isOnThisHost);
  if (areKnown('bootLoaderMap', 'libvirtUri', 'fakeDriver') && usesThisHost) {
    for (const sentence of missingBootLoaders(settings.bootLoaderMap))
      warnings.push(messageFor('bootLoaderMap', sentence));
  }
  return { faults, warnings, machineFile };
}

/** Returns the first words of each message about a setting: its place and its name. */
export function startOfMessage({ origins }: Pick<LoadedSettings, 'origins'>, key: SettingKey): string {
  return `${origins[key]}: ${settingsTable[key].name}`;
}

/** Returns the faults of EMULATOR_LIBVIRT_URI, one line each. */
export function libvirtUriFaults(loaded: Pick<LoadedSettings, 'settings' | 'origins'>): string[] {
  return hostFaults(loaded.settings.libvirtUri).map(({ key, fault }) => {
    const part = key === null ? ' ' : `[${formatKey(key)}] `;
    return `${startOfMessage(loaded, 'libvirtUri')}${part}${fault}`;
  });
}

type MessageFor = (key: SettingKey, sentence: string) => string;

/** Checks the cloud: its files, and that no other hypervisor is selected. */
function cloudFaults({ settings, origins }: Inspected, environment: Environment, messageFor: MessageFor): string[] {
  const { osCloud, fakeDriver } = settings;
  if (osCloud === null) return [];
  const otherHypervisors: readonly SettingKey[] = [
    ...(origins.libvirtUri === 'default' ? [] : (['libvirtUri'] as const)),
    ...(fakeDriver ? (['fakeDriver'] as const) : []),
  ];
  const faults = otherHypervisors.map((key) =>
    messageFor(key, 'is set together with EMULATOR_OS_CLOUD: a daemon serves only one of them'),
  );
  try {
    readCloud(osCloud, { environment, directory: process.cwd() });
  } catch (error) {
    if (!(error instanceof CloudError)) throw error;
    faults.push(...error.faults.map((fault) => messageFor('osCloud', `cannot be used: ${fault}`)));
  }
  return faults;
}

/** Reads the file of machines in memory. Returns null without a file, and after a fault. */
function inspectMachineFile(
  { fakeMachines, fakeSystems }: Settings,
  messageFor: MessageFor,
  faults: string[],
): MachineFile | null {
  if (fakeMachines === null) return null;
  if (fakeSystems !== null) {
    const sentence = 'and EMULATOR_FAKE_SYSTEMS are both set: only one of them can name the machines';
    faults.push(messageFor('fakeMachines', sentence));
    return null;
  }
  try {
    return readMachineFile(fakeMachines);
  } catch (error) {
    if (!(error instanceof MachineFileError)) throw error;
    faults.push(...error.faults.map((fault) => messageFor('fakeMachines', `cannot be used: ${fault}`)));
    return null;
  }
}

function storeUrlFault(url: string): string | undefined {
  if (!URL.canParse(url)) return 'it is not a URL';
  return ['redis:', 'rediss:'].includes(new URL(url).protocol) ? undefined : 'its scheme is not redis or rediss';
}

function inspectTls({ sslCert, sslKey }: Settings, messageFor: MessageFor): string[] {
  if (sslCert === null && sslKey === null) return [];
  if (sslKey === null) return [messageFor('sslCert', 'is set and EMULATOR_SSL_KEY is not: HTTPS needs both')];
  if (sslCert === null) return [messageFor('sslKey', 'is set and EMULATOR_SSL_CERT is not: HTTPS needs both')];
  try {
    loadTls({ sslCert, sslKey });
    return [];
  } catch (error) {
    if (!(error instanceof TlsFilesError)) throw error;
    return [messageFor(error.message.includes('the key') ? 'sslKey' : 'sslCert', `cannot be used: ${error.message}`)];
  }
}

function inspectPasswordFile(settings: Settings, messageFor: MessageFor, faults: string[], warnings: string[]): void {
  if (settings.authFile === null) {
    if (!isLoopback(settings.listenIp))
      warnings.push(
        `no EMULATOR_AUTH_FILE: every client that reaches ${settings.listenIp || 'this host'} ` +
          'may switch every machine on and off',
      );
    return;
  }
  try {
    const contents = readPasswordFile(settings.authFile);
    faults.push(...contents.faults);
    warnings.push(...contents.warnings);
  } catch (error) {
    if (!(error instanceof PasswordFileError)) throw error;
    faults.push(...error.faults.map((fault) => messageFor('authFile', `cannot be used: ${fault}`)));
  }
}

function caFileFault(file: string): string | undefined {
  try {
    const text = readTextFile(file);
    if (!text.includes('-----BEGIN ')) return 'it is not a PEM file';
    createSecureContext({ ca: text });
    return undefined;
  } catch (error) {
    return fileReason(error);
  }
}

/**
 * Returns a sentence for each storage that the setting `drives` or `volumes` names and the setting
 * `storage` does not. Clients would not see such drives and volumes.
 */
function missingStorages(settings: Settings, key: 'drives' | 'volumes'): string[] {
  const storages = new Set(
    Object.entries(settings.storage).flatMap(([uuid, units]) => units.map(({ Id }) => storageKey(uuid, Id))),
  );
  return Object.keys(settings[key])
    .filter((storage) => !storages.has(storage))
    .map((storage) => `has no effect for ${storage}: EMULATOR_STORAGE names no such storage`);
}

/** Returns a sentence for each firmware file of the map that does not exist. */
function missingBootLoaders(map: BootLoaderMap): string[] {
  return Object.entries(map).flatMap(([mode, byArchitecture]) =>
    Object.entries(byArchitecture).flatMap(([architecture, file]) => {
      if (file === null || exists(file)) return [];
      return [`names a firmware for ${mode} on ${architecture} that does not exist: ${file}`];
    }),
  );
}

function exists(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() === true;
}
