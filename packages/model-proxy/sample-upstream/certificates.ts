/** A private certificate authority and what it issues, made by openssl when they are needed: no key lies in the repository. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Elliptic keys: made in milliseconds. */
const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** Paths of two PEM files. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface CertificateOptions {
  /** Names and IP addresses that the certificate is for. */
  readonly hosts?: readonly string[];
  /** Issues a certificate whose last day is in the past. */
  readonly expired?: boolean;
}

export interface Authority {
  /** The CA bundle that its clients have to trust: a path. */
  readonly caFile: string;
  /**
   * Issues a certificate, for servers and clients alike.
   * @param name of its files; a second one of that name takes the place of the first.
   */
  issue(name: string, options?: CertificateOptions): Promise<CertificateFiles>;
}

/**
 * Makes an authority.
 * @param folder for its files and what it issues; exists already.
 * @param name of its files; two of them may share a folder.
 * @throws {Error} where there is no openssl 3, or the folder can not be written to.
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
      ]; // three in, three out
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

/** Signs a request for a day of the year 2020. OpenSSL 3.5 refuses a negative `-days`; every version of `ca` accepts dates. */
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

async function openssl(...words: readonly string[]): Promise<void> {
  await run('openssl', [...words]);
}
