/** The certificate files of libvirt's clients. @see https://libvirt.org/kbase/tlscerts.html */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { readIfPresent } from '../read-file.js';

/** Contents of the files, in PEM. undefined: there is no such file, or it cannot be used alone. */
interface TlsFiles {
  readonly ca: Buffer | undefined;
  readonly crl: Buffer | undefined;
  readonly cert: Buffer | undefined;
  readonly key: Buffer | undefined;
}

/** Properties of this process that determine the paths. */
export interface TlsEnvironment {
  /** User id; 0 is root. */
  readonly uid: number;
  readonly home: string;
  /** Folder of the host's certificates, usually `/etc/pki`. */
  readonly system: string;
}

/** Options of {@link readTlsFiles}. */
interface TlsFilesOptions {
  /** Folder of all files; null: the folder of the user, else that of the host. */
  readonly pkipath: string | null;
  /** True: a missing certificate authority is an error. With `pkipath`, this is always an error. */
  readonly verify: boolean;
}

const tlsEnvironment = (): TlsEnvironment => ({
  uid: process.getuid?.() ?? 0,
  home: homedir(),
  system: '/etc/pki',
});

/**
 * Returns the files that may have the certificate authorities of this account. Only the first existing one counts.
 * @param pkipath the parameter of a URI: the only folder; null without it.
 * @param environment default: the properties of this process.
 */
export function authorityFiles(pkipath: string | null, environment: Partial<TlsEnvironment> = {}): readonly string[] {
  const { uid, home, system } = { ...tlsEnvironment(), ...environment };
  if (pkipath !== null) return [join(pkipath, 'cacert.pem')];
  const own = ownFolder({ uid, home });
  const ofHost = join(system, 'CA', 'cacert.pem');
  return own === null ? [ofHost] : [join(own, 'cacert.pem'), ofHost];
}

/** Returns the user's folder; null for root, who has none. */
const ownFolder = ({ uid, home }: Pick<TlsEnvironment, 'uid' | 'home'>): string | null =>
  uid === 0 ? null : join(home, '.pki', 'libvirt');

/**
 * Reads the files. As in libvirt, a folder of the parameter `pkipath` must have all files except
 * the revocation list. Without the parameter, a client certificate is optional.
 * @throws {Error} with the path of a missing or unreadable file.
 */
export async function readTlsFiles(
  { pkipath, verify }: TlsFilesOptions,
  environment: TlsEnvironment = tlsEnvironment(),
): Promise<TlsFiles> {
  if (pkipath !== null) return await readFolder(pkipath);
  const { system } = environment;
  const own = ownFolder(environment);
  const ownFile = async (name: string): Promise<Buffer | undefined> =>
    own === null ? undefined : await readIfPresent(join(own, name));
  const [ownCert, ownKey] = [await ownFile('clientcert.pem'), await ownFile('clientkey.pem')];
  // A certificate and its key come from the same folder.
  const [cert, key] =
    ownCert !== undefined && ownKey !== undefined
      ? [ownCert, ownKey]
      : [
          await readIfPresent(join(system, 'libvirt', 'clientcert.pem')),
          await readIfPresent(join(system, 'libvirt', 'private', 'clientkey.pem')),
        ];
  const authorities = authorityFiles(null, environment);
  const ca = await readFirst(authorities);
  if (ca === undefined && verify) {
    const none = authorities.length === 1 ? 'no' : 'neither';
    throw new Error(`no certificate authority: there is ${none} ${authorities.join(' nor ')}`);
  }
  const crl = (await ownFile('cacrl.pem')) ?? (await readIfPresent(join(system, 'CA', 'cacrl.pem')));
  // A certificate without its key, or a key without its certificate, cannot be used.
  return cert === undefined || key === undefined
    ? { ca, crl, cert: undefined, key: undefined }
    : { ca, crl, cert, key };
}

/** Returns the content of the first existing file; undefined if none exists. @throws as {@link readIfPresent}. */
async function readFirst(files: readonly string[]): Promise<Buffer | undefined> {
  for (const file of files) {
    const content = await readIfPresent(file);
    if (content !== undefined) return content;
  }
  return undefined;
}

async function readFolder(folder: string): Promise<TlsFiles> {
  const required = async (name: string): Promise<Buffer> => {
    const path = join(folder, name);
    const contents = await readIfPresent(path);
    if (contents === undefined) throw new Error(`parameter "pkipath": there is no ${path}`);
    return contents;
  };
  return {
    ca: await required('cacert.pem'),
    crl: await readIfPresent(join(folder, 'cacrl.pem')),
    cert: await required('clientcert.pem'),
    key: await required('clientkey.pem'),
  };
}
