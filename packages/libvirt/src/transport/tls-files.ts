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
 * Reads the files. As in libvirt, a folder of the parameter `pkipath` must have all files except
 * the revocation list. Without the parameter, a client certificate is optional.
 * @throws {Error} with the path of a missing or unreadable file.
 */
export async function readTlsFiles(
  { pkipath, verify }: TlsFilesOptions,
  environment: TlsEnvironment = tlsEnvironment(),
): Promise<TlsFiles> {
  if (pkipath !== null) return await readFolder(pkipath);
  const { uid, home, system } = environment;
  const own = uid === 0 ? null : join(home, '.pki', 'libvirt');
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
  const caPath = join(system, 'CA', 'cacert.pem');
  const ca = (await ownFile('cacert.pem')) ?? (await readIfPresent(caPath));
  if (ca === undefined && verify) {
    const places = own === null ? caPath : `${join(own, 'cacert.pem')} nor ${caPath}`;
    throw new Error(`no certificate authority: there is ${own === null ? 'no' : 'neither'} ${places}`);
  }
  const crl = (await ownFile('cacrl.pem')) ?? (await readIfPresent(join(system, 'CA', 'cacrl.pem')));
  // A certificate without its key, or a key without its certificate, cannot be used.
  return cert === undefined || key === undefined
    ? { ca, crl, cert: undefined, key: undefined }
    : { ca, crl, cert, key };
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
