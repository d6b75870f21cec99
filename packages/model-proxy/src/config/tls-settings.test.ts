import { beforeAll, describe, expect, it } from '@jest/globals';
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { configurationFixture, oneModel } from '../../test/support/configuration.js';

const { at, deployment, faults, load, makeCertificate, write } = configurationFixture();

beforeAll(() => {
  for (const name of ['ca', 'client', 'other']) makeCertificate(name);
  const text = (name: string) => readFileSync(at(name), 'utf8');
  write('both.pem', text('client.pem') + text('client.key'));
  write('bundle.pem', `# roots\n${text('ca.pem')}# more\n${text('other.pem')}`);
  write('damaged.pem', text('ca.pem') + text('other.pem').replace(/MII.{20}/, 'MII'));
  write('text', 'no PEM');
  mkdirSync(at('folder'));
});

const verify = (params: readonly string[], settings = '', environment = {}) => {
  const { tls } = deployment(oneModel(params, settings === '' ? '' : `litellm_settings: {${settings}}\n`), {
    environment,
  });
  return typeof tls.verify === 'string' ? path.basename(tls.verify) : tls.verify;
};

describe('ssl_verify', () => {
  it('comes from the deployment, else the environment, else litellm_settings; the default is true', () => {
    const environment = { SSL_VERIFY: 'other.pem' };
    expect(verify(['ssl_verify: ca.pem'], 'ssl_verify: false', environment)).toBe('ca.pem');
    expect(verify([], 'ssl_verify: false', environment)).toBe('other.pem');
    expect(verify([], 'ssl_verify: bundle.pem')).toBe('bundle.pem');
    expect(verify([])).toBe(true);
    expect(verify(['ssl_verify:'], 'ssl_verify: false')).toBe(false);
  });

  it.each([
    ['true', true],
    ['"True"', true],
    ['"false"', false],
    ['FALSE', false],
    ['off', false],
  ])('can be the boolean %s', (text, expected) => {
    expect(verify([`ssl_verify: ${text}`], 'ssl_verify: ca.pem')).toBe(expected);
  });

  it('is checked again when the contents of a valid bundle change', () => {
    const check = () => faults(oneModel(['ssl_verify: changing.pem']));
    write('changing.pem', readFileSync(at('ca.pem'), 'utf8'));
    expect(check()).toEqual([]);
    write('changing.pem', readFileSync(at('damaged.pem'), 'utf8'));
    expect(check()).toEqual([expect.stringContaining('certificate 2 of 2 in it is damaged')]);
    write('changing.pem', readFileSync(at('ca.pem'), 'utf8'));
    expect(check()).toEqual([]);
  });

  it('uses SSL_CERT_FILE if it is true, but not if it is a path or false', () => {
    const environment = { SSL_CERT_FILE: at('ca.pem') };
    expect(verify([], '', environment)).toBe('ca.pem');
    expect(verify(['ssl_verify: true'], 'ssl_verify: other.pem', environment)).toBe('ca.pem');
    expect(verify(['ssl_verify: other.pem'], '', environment)).toBe('other.pem');
    expect(verify(['ssl_verify: false'], '', environment)).toBe(false);
    expect(verify([], '', { SSL_VERIFY: 'False', ...environment })).toBe(false);
  });

  it.each([
    ['none.pem', 'there is no such file'],
    ['folder', 'it is a folder'],
    ['text', 'it contains no PEM certificate'],
    ['ca.key', 'it contains no PEM certificate'],
    ['damaged.pem', 'certificate 2 of 2 in it is damaged'],
  ])('prevents the start if it names the unusable file %s; the fault has file, line and key', (name, reason) => {
    const sentence = `the CA bundle ${name} cannot be used: ${reason}`;
    expect(faults(oneModel([`ssl_verify: ${name}`]))).toEqual([
      `config.yaml:6: model_list[0].litellm_params.ssl_verify: ${sentence}`,
    ]);
    expect(faults(`litellm_settings:\n  ssl_verify: ${name}\n${oneModel()}`)).toEqual([
      `config.yaml:2: litellm_settings.ssl_verify: ${sentence}`,
    ]);
    for (const variable of ['SSL_VERIFY', 'SSL_CERT_FILE'])
      expect(faults(oneModel(), { environment: { [variable]: name } })).toEqual([
        `environment: ${variable}: ${sentence}`,
      ]);
  });

  it.each(['5', '""', '[ca.pem]'])('cannot be %s', (value) => {
    expect(faults(oneModel([`ssl_verify: ${value}`]))).toEqual([
      expect.stringContaining('ssl_verify: must be true, false, or the path of a CA bundle, not '),
    ]);
  });
});

describe('the client certificate', () => {
  const certificate = (params: readonly string[], settings = '', environment = {}) =>
    deployment(oneModel(params, settings === '' ? '' : `litellm_settings: {${settings}}\n`), { environment }).tls
      .clientCertificate;

  it('is a pair of files, or one file with both, from the same places as ssl_verify', () => {
    const pair = { certFile: at('client.pem'), keyFile: at('client.key') };
    expect(certificate(['ssl_certificate: client.pem', 'ssl_certificate_key: client.key'])).toEqual(pair);
    expect(certificate([], 'ssl_certificate: client.pem, ssl_certificate_key: client.key')).toEqual(pair);
    expect(certificate(['ssl_certificate: both.pem'])).toEqual({ certFile: at('both.pem'), keyFile: at('both.pem') });
    expect(
      certificate([], 'ssl_certificate: both.pem', {
        SSL_CERTIFICATE: at('client.pem'),
        SSL_CERTIFICATE_KEY: at('client.key'),
      }),
    ).toEqual(pair);
    expect(certificate([])).toBeNull();
  });

  it('prevents the start if it cannot be used', () => {
    const place = 'config.yaml:6: model_list[0].litellm_params.ssl_certificate: cannot be used:';
    expect(faults(oneModel(['ssl_certificate: client.pem']))).toEqual([
      `${place} using the key client.pem: it is not a PEM key`,
    ]);
    expect(faults(oneModel(['ssl_certificate: client.pem', 'ssl_certificate_key: other.key']))).toEqual([
      `${place} using the key other.key: it is not the key of the certificate`,
    ]);
    expect(faults(oneModel(['ssl_certificate_key: client.key']))).toEqual([
      'config.yaml:6: model_list[0].litellm_params.ssl_certificate_key: needs ssl_certificate as well',
    ]);
    expect(faults(oneModel(), { environment: { SSL_CERTIFICATE: 'none' } })).toEqual([
      'environment: SSL_CERTIFICATE: cannot be used: reading the certificate none: there is no such file',
    ]);
  });
});

it('every checked file is watched', () => {
  const text = oneModel(['ssl_verify: ca.pem', 'ssl_certificate: client.pem', 'ssl_certificate_key: client.key']);
  expect(load(text).watchedFiles.map((file) => path.basename(file))).toEqual([
    'config.yaml',
    'ca.pem',
    'client.pem',
    'client.key',
  ]);
});
