/**
 * Certificates that the service trusts for images of one drive, in addition to the CAs that it trusts
 * for all drives.
 */
import type { X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { PemError, pemOf, readPem } from '../pem.js';
import { redfishError, RedfishError } from '../../redfish/messages/errors.js';
import { withPointers, message, withDetail } from '../../redfish/messages/messages.js';
import { certificateTypes, renderCertificate, viewCertificate } from './certificate-rendering.js';
import { renderCollection } from '../../resources/reference.js';
import { defineResource, type Services } from './services.js';
import { decodeSegment } from '../../redfish/rendering.js';
import { mediaOf } from '../../resources/details.js';
import { loadMediaDrive } from '../../resources/virtual-media/virtual-media.js';

/** The machine's definition stores the certificates, so their number and size are limited. */
const MAX_CERTIFICATES = 8;
const MAX_PEM_LENGTH = 32_768;

/**
 * Returns the certificates of a PEM text. Empty if the text contains a private key, another PEM block or an
 * unreadable certificate.
 */
function certificatesOf(pem: string): readonly X509Certificate[] {
  try {
    const { certificates, keys } = readPem(pem);
    // A private key that a client sends by mistake must not be stored and shown.
    return keys.length === 0 ? certificates : [];
  } catch (error) {
    if (error instanceof PemError) return [];
    throw error;
  }
}

const onlyCertificatesDetail =
  'The text must contain one or more certificates in PEM, no private key and no other PEM block.';

/** The message does not quote the text, which may contain a private key. */
const tooLong = message('StringValueTooLong', '******', MAX_PEM_LENGTH);

const newCertificate = z.strictObject({
  CertificateString: z.string().superRefine((pem, context) => {
    if (pem.length > MAX_PEM_LENGTH) {
      context.addIssue({ code: 'custom', params: { message: tooLong } });
      return;
    }
    if (certificatesOf(pem).length > 0) return;
    const fault = message('PropertyValueFormatError', '******', 'CertificateString');
    context.addIssue({ code: 'custom', params: { message: withDetail(fault, onlyCertificatesDetail) } });
  }),
  CertificateType: z.enum(certificateTypes),
});

const collection = defineResource({
  entity: 'CertificateCollection',
  odataType: '#CertificateCollection.CertificateCollection',
  uri: '/redfish/v1/Systems/{systemId}/VirtualMedia/{mediaId}/Certificates',
  load: ({ params, services }) => loadMediaDrive(params, services),
  canonicalParams: ({ system }, params) => ({ ...params, systemId: system.uuid }),
  render: ({ drive }, { self }) =>
    renderCollection(
      'Certificates Collection',
      drive.certificates.map(({ id }) => `${self}/${id}`),
    ),
  post: {
    body: newCertificate,
    async run({ system, id, drive }, { CertificateString }, { services }) {
      // Encoding the certificates again drops comments between them.
      const pem = pemOf(certificatesOf(CertificateString));
      let number = '';
      await mediaOf(services).set(system.uuid, drive.device, (current) => {
        const { certificates } = current;
        if (certificates.length >= MAX_CERTIFICATES) throw redfishError('CreateLimitReachedForResource');
        number = String(1 + Math.max(0, ...certificates.map((known) => Number(known.id))));
        return { ...current, certificates: [...certificates, { id: number, pem }] };
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
    const { system, drive } = await loadMediaDrive(params, services);
    const certificate = drive.certificates.find(({ id }) => id === params.certificateId);
    if (certificate === undefined) throw redfishError('ResourceNotFound', 'Certificate', params.certificateId);
    const view = await viewCertificate(certificatesOf(certificate.pem));
    // POST validates certificates, so only manually edited metadata can contain an unreadable one.
    if (view === null) throw new RedfishError(500, [withPointers(message('InternalError'))]);
    return { system, drive, certificate, view };
  },
  canonicalParams: ({ system }, params) => ({ ...params, systemId: system.uuid }),
  render: ({ certificate: { id }, view }) => ({ Id: id, Name: `Certificate ${id}`, ...renderCertificate(view) }),
  async delete({ system, drive, certificate }, { services }) {
    await mediaOf(services).set(system.uuid, drive.device, (current) => ({
      ...current,
      certificates: current.certificates.filter(({ id }) => id !== certificate.id),
    }));
    return undefined;
  },
});

/**
 * Replaces a certificate of a drive.
 * @param uri the URI of the certificate to replace, without a trailing slash.
 * @param action name of the action, for error messages.
 * @returns canonical URI of the certificate; null if `uri` has another form, or the drive has no
 *   such certificate.
 * @throws {RedfishError} 404 for an unknown drive; 400 if the new text is not a certificate or too long.
 * @throws {DriverError} notFound for an unknown system, and the other errors of the driver.
 */
export async function replaceDriveCertificate(
  uri: string,
  { CertificateString }: { readonly CertificateString: string },
  services: Services,
  action: string,
): Promise<string | null> {
  const [, systemId = '', mediaId = '', certificateId = ''] =
    /^\/redfish\/v1\/Systems\/([^/]+)\/VirtualMedia\/([^/]+)\/Certificates\/(\d+)$/.exec(uri) ?? [];
  if (certificateId === '') return null;
  const ids = { systemId: decodeSegment(systemId), mediaId: decodeSegment(mediaId) };
  const { system, id, drive } = await loadMediaDrive(ids, services);
  if (!drive.certificates.some((known) => known.id === certificateId)) return null;
  if (CertificateString.length > MAX_PEM_LENGTH)
    throw new RedfishError(400, [withPointers(tooLong, '#/CertificateString')]);
  const pem = pemOf(certificatesOf(CertificateString));
  if (pem === '') {
    const fault = message('ActionParameterValueFormatError', '******', 'CertificateString', action);
    throw new RedfishError(400, [withPointers(withDetail(fault, onlyCertificatesDetail), '#/CertificateString')]);
  }
  await mediaOf(services).set(system.uuid, drive.device, (current) => ({
    ...current,
    certificates: current.certificates.map((known) => (known.id === certificateId ? { ...known, pem } : known)),
  }));
  return `/redfish/v1/Systems/${system.uuid}/VirtualMedia/${id}/Certificates/${certificateId}`;
}

/** The certificates of the drives of systems, and their collection. */
export const driveCertificateResources = [collection, member];
