/**
 * A private certificate authority. openssl makes its keys and certificates on demand, so that the
 * repository contains no keys.
 */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Elliptic-curve keys take only milliseconds. */
const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** Paths of two PEM files. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface CertificateOptions {
  /** Names and IP addresses of the certificate. */
  readonly hosts?: readonly string[];
  /** Whether to issue an expired certificate. */
  readonly expired?: boolean;
}

export interface Authority {
  /** Path of the CA bundle for clients. */
  readonly caFile: string;
  /**
   * Issues a certificate for servers and clients.
   * @param name the name of its files. A second certificate with the same name replaces the first.
   * @throws {Error} if openssl fails, for example for a wrong host.
   */
  issue(name: string, options?: CertificateOptions): Promise<CertificateFiles>;
}

/**
 * Makes an authority.
 * @param folder the folder for its files; it must exist.
 * @param name the name of its files, so that authorities can share a folder.
 * @throws {Error} if openssl 3 is missing, or the folder is not writable.
 */
export async function createAuthority(folder: string, name = 'ca'): Promise<Authority> {
  const [caFile, caKey] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
  await openssl(
    ...['req', '-x509', ...NEW_KEY, '-days', '30', '-keyout', caKey, '-out', caFile],
    ...['-subj', `/CN=Rackless sample authority ${name}`],
    ...['-addext', 'basicConstraints=critical,CA:TRUE', '-addext', 'keyUsage=critical,keyCertSign,cRLSign'],
  );
  return {
    caFile,
    async issue(issued, { hosts = ['localhost', '127.0.0.1'], expired = false } = {}) {
      const [certFile, keyFile, csr] = ['pem', 'key', 'csr'].map((end) => join(folder, `${issued}.${end}`)) as [
        string,
        string,
        string,
      ]; // one for each ending
      const names = hosts.map((host) => `${/^[\d.]+$|:/.test(host) ? 'IP' : 'DNS'}:${host}`);
      await openssl(
        ...['req', '-new', ...NEW_KEY, '-keyout', keyFile, '-out', csr, '-subj', `/CN=${hosts[0] ?? issued}`],
        ...['-addext', `subjectAltName=${names.join(',')}`, '-addext', 'basicConstraints=CA:FALSE'],
      );
      if (expired) await signExpired({ caFile, caKey }, csr, certFile);
      else {
        const by = ['-CA', caFile, '-CAkey', caKey, '-days', '30', '-copy_extensions', 'copy'];
        await openssl('x509', '-req', '-in', csr, '-out', certFile, ...by);
      }
      return { certFile, keyFile };
    },
  };
}

/**
 * Issues a certificate that was valid for one day in 2020. OpenSSL 3.5 rejects a negative `-days`,
 * but `ca` accepts dates in all versions.
 */
async function signExpired(
  { caFile, caKey }: { readonly caFile: string; readonly caKey: string },
  csr: string,
  certFile: string,
): Promise<void> {
  const [config, index] = [`${csr}.conf`, `${csr}.index`];
  await writeFile(index, '');
  const files = [`certificate = ${caFile}`, `private_key = ${caKey}`, `database = ${index}`];
  const rules = ['copy_extensions = copy', 'default_md = sha256', 'rand_serial = yes', 'policy = policy'];
  const folder = `new_certs_dir = ${dirname(csr)}`;
  await writeFile(config, ['[signer]', ...files, folder, ...rules, '[policy]', 'commonName = supplied', ''].join('\n'));
  const dates = ['-startdate', '20200101000000Z', '-enddate', '20200102000000Z'];
  await openssl(
    'ca',
    '-batch',
    '-notext',
    '-config',
    config,
    '-name',
    'signer',
    ...dates,
    '-in',
    csr,
    '-out',
    certFile,
  );
}

async function openssl(...args: readonly string[]): Promise<void> {
  await run('openssl', [...args]);
}
