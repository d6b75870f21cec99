/** Attacks on TLS: certificates that clients cannot use, and handshakes that do not end. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { makeFolder } from '../daemons.js';
import { PATIENCE } from '../wire.js';
import { root } from './tree.js';
import { basic } from './rights.js';

/**
 * Makes a self-signed certificate with its key.
 * @param kind the kind of the key, as arguments of openssl.
 * @returns `{key, pem, text}`: two paths, and the certificate and its key as one text.
 */
function certificate(folder, name, kind, extensions = []) {
  const [key, pem] = [join(folder, `${name}.key`), join(folder, `${name}.pem`)];
  const more = ['subjectAltName=IP:127.0.0.1', ...extensions].flatMap((text) => ['-addext', text]);
  const args = ['req', '-x509', '-newkey', ...kind, '-nodes', '-days', '5', '-subj', `/CN=${name}`, ...more];
  execFileSync('openssl', [...args, '-keyout', key, '-out', pem], { stdio: 'pipe' });
  return { key, pem, text: readFileSync(pem, 'utf8') + readFileSync(key, 'utf8') };
}

const ec = ['ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
const sha1 = ['rsa-pss', '-pkeyopt', 'rsa_keygen_bits:2048', '-pkeyopt', 'rsa_pss_keygen_md:sha1'];
/** Certificates that clients reject or cannot use: the kind of the key, and extensions. */
const unusable = {
  'an unknown critical extension': [ec, ['1.2.3.4=critical,ASN1:UTF8String:x']],
  'a key for e-mail only': [ec, ['extendedKeyUsage=emailProtection']],
  'an RSA-PSS key for SHA-1 only': [
    [...sha1, '-pkeyopt', 'rsa_pss_keygen_mgf1_md:sha1', '-pkeyopt', 'rsa_pss_keygen_saltlen:20'],
  ],
  'a curve that TLS does not use': [['ec', '-pkeyopt', 'ec_paramgen_curve:secp256k1']],
};

function hasOpenssl() {
  try {
    execFileSync('openssl', ['version'], { stdio: 'pipe' });
    return true;
  } catch {
    return false;
  }
}

/**
 * Sends a request as `admin` over HTTPS, and accepts every certificate.
 * @returns `{status, text}`.
 */
async function sendOverTls(port, { method = 'GET', path, body }) {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = { ...basic('admin'), ...(text === undefined ? {} : { 'Content-Type': 'application/json' }) };
  const options = { host: '127.0.0.1', port, method, path, headers, rejectUnauthorized: false, agent: false };
  const sent = request({ ...options, signal: AbortSignal.timeout(PATIENCE * 1000) });
  sent.end(text);
  const [answer] = await once(sent, 'response');
  let got = '';
  for await (const piece of answer.setEncoding('utf8')) got += piece;
  return { status: answer.statusCode, text: got };
}

/** Returns the common name of the certificate on a new connection. */
async function shown(port) {
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await once(socket, 'secureConnect', { signal: AbortSignal.timeout(PATIENCE * 1000) });
  const name = socket.getPeerCertificate().subject.CN;
  socket.destroy();
  return name;
}

/**
 * Starts a daemon with TLS and the account `admin`.
 * @returns `{daemon, replace}`: `replace` sends a new certificate with its key.
 */
async function startSecure(arena, folder) {
  const first = certificate(folder, 'first', ec);
  const settings = { EMULATOR_SSL_CERT: join(folder, 'server.pem'), EMULATOR_SSL_KEY: join(folder, 'server.key') };
  copyFileSync(first.pem, settings.EMULATOR_SSL_CERT);
  copyFileSync(first.key, settings.EMULATOR_SSL_KEY);
  const daemon = await arena.startBmc({ users: ['admin'], folder, settings });
  const { text } = await sendOverTls(daemon.port, { path: `${root}/Managers` });
  const manager = JSON.parse(text).Members[0]['@odata.id'];
  const replace = (pem) =>
    sendOverTls(daemon.port, {
      method: 'POST',
      path: `${manager}/NetworkProtocol/HTTPS/Certificates`,
      body: { CertificateString: pem, CertificateType: 'PEM' },
    });
  return { daemon, replace };
}

const certificateAttack = {
  name: `certificates with ${Object.keys(unusable).join(', ')}`,
  expected: '400 that names CertificateString, and at the end a new connection gets the old certificate',
  seconds: 90,
  run: async (arena) => {
    if (!hasOpenssl()) return 'there is no openssl command';
    const folder = makeFolder();
    const { daemon, replace } = await startSecure(arena, folder);
    for (const [name, [kind, extensions]] of Object.entries(unusable)) {
      const { status, text } = await replace(certificate(folder, 'other', kind, extensions).text);
      if (status !== 400 || !text.includes('CertificateString'))
        throw new Error(`${name}: ${status} ${text.slice(0, 300)}`);
    }
    if ((await shown(daemon.port)) !== 'first') throw new Error('the certificate was replaced');
  },
};

const handshakeAttack = {
  name: 'TLS connections with nothing or the first bytes of a handshake, replaced certificates and reloads, during GETs',
  expected: 'every GET gets 200 within 60 s, and after each replacement a new connection gets the new certificate',
  seconds: 120,
  run: async (arena) => {
    if (!hasOpenssl()) return 'there is no openssl command';
    const folder = makeFolder();
    const { daemon, replace } = await startSecure(arena, folder);
    const hello = Buffer.from('16030100f5010000f10303', 'hex');
    const sockets = Array.from({ length: arena.rounds(500, 2000) }, (_, index) => {
      const socket = connect(daemon.port, '127.0.0.1').on('error', () => undefined);
      if (index % 2 === 0) socket.write(hello.subarray(0, 1 + (index % hello.length)));
      return socket;
    });
    let isOver = false;
    const client = async () => {
      while (!isOver) {
        const { status } = await sendOverTls(daemon.port, { path: `${root}/Systems` });
        if (status !== 200) throw new Error(`GET meanwhile: ${status}`);
      }
    };
    const clients = Promise.all(Array.from({ length: 4 }, client));
    clients.catch(() => undefined);
    try {
      for (let round = 0; round < arena.rounds(4, 100); round += 1) {
        const { status, text } = await replace(certificate(folder, `round-${round}`, ec).text);
        if (status !== 201) throw new Error(`the certificate of round ${round}: ${status} ${text.slice(0, 300)}`);
        daemon.signal('SIGHUP');
        const name = await shown(daemon.port);
        if (name !== `round-${round}`) throw new Error(`round ${round}: a new connection got ${name}`);
      }
      isOver = true;
      await clients;
    } finally {
      isOver = true;
      for (const socket of sockets) socket.destroy();
    }
  },
};

export const certificates = [certificateAttack, handshakeAttack];
