/**
 * The HTTPS certificate of this service, which all managers share. A service with plain HTTP has no
 * certificate.
 */
import { z } from 'zod';
import { ServerCertificateError, type ServerCertificate } from '../server-certificate.js';
import { RedfishError, redfishError } from '../../redfish/messages/errors.js';
import { withPointers, message, sentence, withDetail } from '../../redfish/messages/messages.js';
import { certificateTypes, renderCertificate, viewCertificate } from './certificate-rendering.js';
import { renderCollection } from '../../resources/reference.js';
import { defineResource, type Services } from './services.js';

const uri = '/redfish/v1/Managers/{managerId}/NetworkProtocol/HTTPS/Certificates';
/** Id of the only certificate. */
const ID = '1';
/** Maximum length of a PEM text, in characters. No chain needs as many. */
const MAX_PEM_LENGTH = 65_536;

/** Value of Retry-After, in seconds, if too many signing requests wait for their keys. */
const RETRY_AFTER_S = '5';

/**
 * Returns the URI of a manager's HTTPS certificate collection.
 * @param uuid the UUID of its machine.
 */
export function httpsCertificatesUri(uuid: string): string {
  return uri.replace('{managerId}', uuid);
}

/** Returns the URI of a manager's HTTPS certificate. @param uuid the UUID of its machine. */
export function httpsCertificateUri(uuid: string): string {
  return `${httpsCertificatesUri(uuid)}/${ID}`;
}

/**
 * Properties of a sent certificate. It can contain a private key, so error messages do not quote
 * it.
 */
export const sentCertificate = {
  CertificateString: z.string().superRefine((pem, context) => {
    if (pem.length <= MAX_PEM_LENGTH) return;
    context.addIssue({ code: 'custom', params: { message: message('StringValueTooLong', '******', MAX_PEM_LENGTH) } });
  }),
  CertificateType: z.enum(certificateTypes),
  // DMTF defines Password for PKCS #12. This service decrypts the private key with it.
  Password: z.string().max(1_000).nullish(),
};

/** A certificate that {@link sentCertificate} validated. */
interface SentCertificate {
  readonly CertificateString: string;
  readonly Password?: string | null | undefined;
}

/**
 * Replaces the certificate of HTTPS.
 * @param action name for error messages, `CertificateService.ReplaceCertificate`; absent for a POST to the
 *   collection.
 * @throws {RedfishError} 400 for an invalid certificate. {TlsFileWriteError} if the files cannot be written.
 */
export async function replaceHttpsCertificate(
  certificate: ServerCertificate,
  { CertificateString, Password }: SentCertificate,
  action?: string,
): Promise<void> {
  try {
    await certificate.replace(CertificateString, { passphrase: Password ?? undefined });
  } catch (error) {
    throw translateCertificateError(error, action);
  }
}

/** Translates a ServerCertificateError to Redfish messages. Returns any other error unchanged. */
export function translateCertificateError(error: unknown, action?: string): unknown {
  if (!(error instanceof ServerCertificateError)) return error;
  const name = 'CertificateString';
  const detail = sentence(error.message);
  if (error.kind === 'busy') {
    const later = withDetail(message('ServiceTemporarilyUnavailable', RETRY_AFTER_S), detail);
    return new RedfishError(503, [later], { 'Retry-After': RETRY_AFTER_S }, error);
  }
  const formatMessage =
    action === undefined
      ? message('PropertyValueFormatError', '******', name)
      : message('ActionParameterValueFormatError', '******', name, action);
  const valueMessage =
    action === undefined ? message('PropertyValueError', name) : message('ActionParameterValueError', name, action);
  const fault = error.kind === 'format' ? formatMessage : valueMessage;
  return new RedfishError(400, [withPointers(withDetail(fault, detail), `#/${name}`)], {}, error);
}

/**
 * Returns the machine's UUID and the certificate.
 * @throws {RedfishError} 404 with plain HTTP.
 * @throws {DriverError} notFound for an unknown manager.
 */
async function loadCertificate({ managerId }: { readonly managerId: string }, { driver, serverCertificate }: Services) {
  const { uuid } = await driver.getSystem(managerId);
  if (serverCertificate === null) throw redfishError('ResourceNotFound', 'CertificateCollection', 'Certificates');
  return { uuid, certificate: serverCertificate };
}

const collection = defineResource({
  entity: 'CertificateCollection',
  odataType: '#CertificateCollection.CertificateCollection',
  uri,
  load: ({ params, services }) => loadCertificate(params, services),
  canonicalParams: ({ uuid }) => ({ managerId: uuid }),
  render: ({ uuid }) => ({
    ...renderCollection('HTTPS Certificate Collection', [httpsCertificateUri(uuid)]),
    '@Redfish.SupportedCertificates': certificateTypes,
  }),
  post: {
    // The collection contains one certificate, so a POST replaces it.
    body: z.strictObject(sentCertificate),
    async run({ uuid, certificate }, body) {
      await replaceHttpsCertificate(certificate, body);
      return { created: { location: httpsCertificateUri(uuid) } };
    },
  },
});

const member = defineResource({
  entity: 'Certificate',
  odataType: '#Certificate.v1_11_0.Certificate',
  uri: `${uri}/{certificateId}`,
  load: async ({ params, services }) => {
    const { uuid, certificate } = await loadCertificate(params, services);
    const view = params.certificateId === ID ? await viewCertificate(certificate.chain) : null;
    if (view === null) throw redfishError('ResourceNotFound', 'Certificate', params.certificateId);
    return { uuid, view };
  },
  canonicalParams: ({ uuid }, params) => ({ ...params, managerId: uuid }),
  render: ({ view }) => ({
    Id: ID,
    Name: 'HTTPS Certificate',
    Description: 'The certificate of this service, which the managers of all machines share',
    CertificateUsageTypes: ['Web'],
    ...renderCertificate(view),
  }),
});

/** The HTTPS certificate and its collection, under managers. */
export const httpsCertificateResources = [collection, member];
