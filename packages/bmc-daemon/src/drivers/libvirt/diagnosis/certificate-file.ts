/** Finds the certificate file that prevents a connection to a libvirt host with TLS. */
import path from 'node:path';
import { asRoot, commandLine } from '../../../findings/commands.js';
import { problem, type Finding } from '../../../findings/finding.js';
import { closedFolder } from './closed-folder.js';
import type { ExaminedHost } from './examined-host.js';

const SUBJECT = 'certificate';
const EFFECT = 'so the daemon answers 503 for its machines';

/** Returns a finding about the missing or unreadable file that an error text names; null if it names none. */
export function certificateFileFinding(text: string, { account }: ExaminedHost): Finding | null {
  const { name, uid } = account;
  const [, missing] = /(?:no certificate authority|parameter "pkipath"): there is n.* (\/.*\.pem)/.exec(text) ?? [];
  if (missing !== undefined) {
    const mode = path.basename(missing) === 'clientkey.pem' ? '600' : '644';
    const source = path.basename(missing, '.pem').toUpperCase();
    const install = commandLine('install', '-D', '-m', mode, '-o', name, source, missing);
    return problem(
      SUBJECT,
      `The certificate file ${missing} for the host is missing, ${EFFECT}.`,
      asRoot(install, uid),
    );
  }
  const [, file, reason] = /reading (\/.*?\.pem): (\w+)/.exec(text) ?? [];
  if (file === undefined) return null;
  if (reason !== 'EACCES') {
    const message = `The certificate file ${file} for the host is unreadable (${reason}), ${EFFECT}.`;
    return problem(SUBJECT, message, asRoot(commandLine('ls', '-ld', file), uid));
  }
  const folder = closedFolder(file);
  const permit = (rights: string, place: string): string =>
    asRoot(commandLine('setfacl', '-m', `u:${name}:${rights}`, place), uid);
  const fixes = [...(folder === null ? [] : [permit('x', folder)]), permit('r', file)];
  return problem(SUBJECT, `The account ${name} cannot read ${file}, ${EFFECT}.`, fixes.join(' && '));
}
