import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The files of a certificate. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

/** A certificate authority for tests. */
export interface Authority {
  /** Path of its certificate. */
  readonly ca: string;
  /** Issues a certificate for a server. @param names `DNS:localhost`, `IP:127.0.0.1`. */
  server(names: readonly string[]): Promise<CertificateFiles>;
  /** Makes a folder for the parameter `pkipath`, with a client certificate. */
  clientFolder(): Promise<string>;
}

/** Creates an authority with its files in the folder `dir`. */
export async function createAuthority(dir: string): Promise<Authority> {
  await mkdir(dir, { recursive: true });
  const at = (name: string): string => join(dir, name);
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const [ca, caKey] = [at('cacert.pem'), at('cakey.pem')];
  await run('openssl', [
    ...['req', '-x509', ...newKey, '-days', '2', '-subj', '/CN=Rackless test authority', '-keyout', caKey, '-out', ca],
    ...['-addext', 'keyUsage=critical,keyCertSign'],
  ]);
  let issued = 0;
  const issue = async (into: string, name: string, extensions: readonly string[]): Promise<CertificateFiles> => {
    issued += 1;
    await mkdir(into, { recursive: true });
    const [cert, key] = [join(into, `${name}cert.pem`), join(into, `${name}key.pem`)];
    const [request, config] = [at(`${issued}.csr`), at(`${issued}.ext`)];
    await writeFile(
      config,
      ['basicConstraints=critical,CA:FALSE', 'keyUsage=digitalSignature', ...extensions].join('\n'),
    );
    await run('openssl', ['req', '-new', ...newKey, '-subj', `/CN=${name}`, '-keyout', key, '-out', request]);
    await run('openssl', [
      ...['x509', '-req', '-in', request, '-CA', ca, '-CAkey', caKey, '-set_serial', String(issued), '-days', '2'],
      ...['-extfile', config, '-out', cert],
    ]);
    return { cert, key };
  };
  return {
    ca,
    server: (names) =>
      issue(at(`server-${issued}`), 'server', [`subjectAltName=${names.join(',')}`, 'extendedKeyUsage=serverAuth']),
    clientFolder: async () => {
      const folder = at(`client-${issued}`);
      await issue(folder, 'client', ['extendedKeyUsage=clientAuth']);
      await run('cp', [ca, join(folder, 'cacert.pem')]);
      return folder;
    },
  };
}
