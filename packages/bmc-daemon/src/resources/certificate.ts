/** Certificates that are trusted for the images of one drive, beside those that are trusted for all. */
import { X509Certificate } from 'node:crypto';
import { z } from 'zod';
import type { MediaCertificate } from '../drivers/media-drive.js';
import { refuse, RedfishError } from '../redfish/errors.js';
import { about, message, withDetail } from '../redfish/messages.js';
import type { JsonObject } from '../redfish/resource.js';
import { renderCollection } from './reference.js';
import { defineResource } from './services.js';
import { loadDrive } from './virtual-media.js';

/** They stand in the machine's definition. */
const MOST_CERTIFICATES = 8;
const LONGEST_PEM = 32_768;

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** The certificates of a PEM text; none where one of them is none, or where something else stands in it. */
function certificatesOf(pem: string): readonly X509Certificate[] {
  // Whoever sends a private key by mistake must not find it shown.
  if (/-----BEGIN (?!CERTIFICATE-----)/.test(pem)) return [];
  try {
    return (pem.match(CERTIFICATE) ?? []).map((one) => new X509Certificate(one));
  } catch {
    return [];
  }
}

const newCertificate = z.strictObject({
  CertificateString: z
    .string()
    .max(LONGEST_PEM)
    .superRefine((pem, context) => {
      if (certificatesOf(pem).length > 0) return;
      const fault = message('PropertyValueFormatError', '******', 'CertificateString');
      const detail = 'It has to be one certificate or more in PEM, and nothing else.';
      context.addIssue({ code: 'custom', params: { message: withDetail(fault, detail) } });
    }),
  CertificateType: z.enum(['PEM', 'PEMchain']),
});

const collection = defineResource({
  entity: 'CertificateCollection',
  odataType: '#CertificateCollection.CertificateCollection',
  uri: '/redfish/v1/Systems/{systemId}/VirtualMedia/{mediaId}/Certificates',
  load: ({ params, services }) => loadDrive(params, services),
  canonicalParams: ({ system }, params) => ({ ...params, systemId: system.uuid }),
  render: ({ drive }, { self }) =>
    renderCollection(
      'Certificates Collection',
      drive.certificates.map(({ id }) => `${self}/${id}`),
    ),
  post: {
    body: newCertificate,
    async run({ system, id, drive }, { CertificateString }, { services }) {
      // Written anew: what else a file may hold between its certificates is neither kept nor shown.
      const pem = certificatesOf(CertificateString).join('');
      let number = '';
      await services.driver.setMedia(system.uuid, drive.device, (present) => {
        const { certificates } = present;
        if (certificates.length >= MOST_CERTIFICATES) throw refuse('CreateLimitReachedForResource');
        number = String(1 + Math.max(0, ...certificates.map((known) => Number(known.id))));
        return { ...present, certificates: [...certificates, { id: number, pem }] };
      });
      const location = `/redfish/v1/Systems/${system.uuid}/VirtualMedia/${id}/Certificates/${number}`;
      return { created: { location } };
    },
  },
});

const member = defineResource({
  entity: 'Certificate',
  odataType: '#Certificate.v1_11_0.Certificate',
  uri: '/redfish/v1/Systems/{systemId}/VirtualMedia/{mediaId}/Certificates/{certificateId}',
  load: async ({ params, services }) => {
    const { system, drive } = await loadDrive(params, services);
    const certificate = drive.certificates.find(({ id }) => id === params.certificateId);
    if (certificate === undefined) throw refuse('ResourceNotFound', 'Certificate', params.certificateId);
    return { system, drive, certificate };
  },
  canonicalParams: ({ system }, params) => ({ ...params, systemId: system.uuid }),
  render: ({ certificate }) => renderCertificate(certificate),
  async delete({ system, drive, certificate }, { services }) {
    await services.driver.setMedia(system.uuid, drive.device, (present) => ({
      ...present,
      certificates: present.certificates.filter(({ id }) => id !== certificate.id),
    }));
    return undefined;
  },
});

function renderCertificate({ id, pem }: MediaCertificate): JsonObject {
  const [first, ...others] = certificatesOf(pem);
  // It was judged when it came; only metadata that somebody has edited by hand comes here.
  if (first === undefined) throw new RedfishError(500, [about(message('InternalError'))]);
  return {
    Id: id,
    Name: `Certificate ${id}`,
    CertificateString: pem,
    CertificateType: others.length === 0 ? 'PEM' : 'PEMchain',
    Issuer: identifier(first.issuer),
    Subject: identifier(first.subject),
    ValidNotBefore: dateOf(first.validFrom),
    ValidNotAfter: dateOf(first.validTo),
    SerialNumber: first.serialNumber,
    Fingerprint: first.fingerprint256,
    FingerprintHashAlgorithm: 'TPM_ALG_SHA256',
  };
}

/** DMTF's names of what a distinguished name is made of. */
const parts: Readonly<Record<string, string>> = {
  CN: 'CommonName',
  O: 'Organization',
  OU: 'OrganizationalUnit',
  L: 'City',
  ST: 'State',
  C: 'Country',
  emailAddress: 'Email',
};

/** Node gives a line for each part, `CN=…`; the first of each kind counts. */
function identifier(name: string | undefined): JsonObject {
  const entries = (name ?? '').split('\n').flatMap((line): [string, string][] => {
    const [, key = '', value = ''] = /^([^=]+)=(.*)$/.exec(line) ?? [];
    const part = parts[key];
    return part === undefined || value === '' ? [] : [[part, value]];
  });
  return Object.fromEntries(entries.reverse());
}

/** OpenSSL's `Nov 20 17:00:00 2026 GMT` as DMTF's date-time. */
function dateOf(text: string): string {
  return new Date(text).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Certificates and their collection, under systems. */
export const certificateResources = [collection, member];
