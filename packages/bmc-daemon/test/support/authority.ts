/** A certificate authority in a folder. It uses the `openssl` command to sign requests. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** A certificate authority. */
export interface Authority {
  /** The authority's own certificate in PEM. */
  readonly root: string;
  /** Path of the authority's own certificate, for clients. */
  readonly rootFile: string;
  /** Signs a request and copies its extensions. Returns the certificate in PEM. */
  readonly sign: (request: string, options?: { readonly days?: number }) => string;
  /**
   * Issues a certificate with a new key.
   * @param kind as for `openssl req -newkey`.
   */
  readonly issue: (
    name: string,
    options?: {
      readonly kind?: readonly string[];
      readonly extensions?: readonly string[];
      readonly expired?: boolean;
      readonly notYetValid?: boolean;
    },
  ) => { readonly certificate: string; readonly key: string };
  /**
   * Creates a subordinate authority.
   * @param extensions other than the default create an invalid authority.
   */
  readonly subordinate: (name: string, extensions?: readonly string[]) => Authority;
}

const EC = ['ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];

/** Runs openssl and returns its output. @throws if it fails. */
export function openssl(args: readonly string[], input = ''): string {
  return execFileSync('openssl', args, { input, stdio: ['pipe', 'pipe', 'pipe'], encoding: 'utf8' });
}

/**
 * Creates a root authority.
 * @param folder which the caller removes.
 */
export function createAuthority(folder: string, name = 'root'): Authority {
  const [certificate, key] = [path.join(folder, `${name}.pem`), path.join(folder, `${name}.key`)];
  const extension = [
    '-addext',
    'basicConstraints=critical,CA:TRUE',
    '-addext',
    'keyUsage=critical,keyCertSign,cRLSign',
  ];
  const self = ['-x509', '-nodes', '-days', '3', '-subj', `/O=Example/CN=${name}`, '-keyout', key, '-out', certificate];
  openssl(['req', '-newkey', ...EC, ...self, ...extension]);
  return authorityOf(folder, certificate, key);
}

function authorityOf(folder: string, certificate: string, key: string): Authority {
  let made = 0;
  const file = (suffix: string): string => path.join(folder, `${path.basename(certificate)}-${(made += 1)}.${suffix}`);
  // `x509 -days` takes no negative number from OpenSSL 3.5 on. `ca` takes dates in every version.
  const signFor = (year: number, request: string, extensions: readonly string[]): string => {
    const [config, requestFile, signed] = [file('conf'), file('csr'), file('signed')];
    writeFileSync(requestFile, request);
    const index = file('index');
    writeFileSync(index, '');
    const ca = ['unique_subject = no', 'preserve = yes', 'policy = policy', 'default_md = sha256', 'rand_serial = yes'];
    const folders = [`database = ${index}`, `new_certs_dir = ${folder}`, 'x509_extensions = extensions'];
    const policy = ['[policy]', 'commonName = supplied'];
    writeFileSync(config, ['[signer]', ...ca, ...folders, ...policy, '[extensions]', ...extensions].join('\n'));
    const dates = ['-startdate', `${year}0101000000Z`, '-enddate', `${year}0102000000Z`];
    const by = ['-config', config, '-name', 'signer', '-cert', certificate, '-keyfile', key];
    openssl(['ca', '-batch', '-notext', ...by, ...dates, '-in', requestFile, '-out', signed]);
    return readFileSync(signed, 'utf8');
  };
  const sign = (request: string, days: number, extensions: readonly string[] | undefined): string => {
    const from = extensions === undefined ? ['-copy_extensions', 'copy'] : ['-extfile', file('ext')];
    if (extensions !== undefined) writeFileSync(from[1] ?? '', extensions.join('\n'));
    const by = ['-CA', certificate, '-CAkey', key, '-CAcreateserial'];
    return openssl(['x509', '-req', ...by, '-days', String(days), ...from], request);
  };
  const requestOf = (name: string, kind: readonly string[], keyFile: string): string =>
    openssl(['req', '-new', '-newkey', ...kind, '-nodes', '-subj', `/CN=${name}`, '-keyout', keyFile]);
  return {
    root: readFileSync(certificate, 'utf8'),
    rootFile: certificate,
    sign: (request, { days = 2 } = {}) => sign(request, days, undefined),
    issue: (
      name,
      {
        kind = EC,
        extensions = ['subjectAltName=DNS:localhost,IP:127.0.0.1'],
        expired = false,
        notYetValid = false,
      } = {},
    ) => {
      const keyFile = file('key');
      const request = requestOf(name, kind, keyFile);
      const year = expired ? 2020 : notYetValid ? 2100 : null;
      const signed = year === null ? sign(request, 2, extensions) : signFor(year, request, extensions);
      return { certificate: signed, key: readFileSync(keyFile, 'utf8') };
    },
    subordinate: (name, extensions = ['basicConstraints=critical,CA:TRUE', 'keyUsage=critical,keyCertSign']) => {
      const [own, ownKey] = [path.join(folder, `${name}.pem`), path.join(folder, `${name}.key`)];
      const request = requestOf(name, EC, ownKey);
      writeFileSync(own, sign(request, 3, extensions));
      return authorityOf(folder, own, ownKey);
    },
  };
}
