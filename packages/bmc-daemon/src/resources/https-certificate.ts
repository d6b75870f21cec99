/** The certificate of this service's own HTTPS, which the managers of all machines share; with plain HTTP there is none. */
import { z } from 'zod';
import { ServerCertificateError, type ServerCertificate } from '../certificates/server-certificate.js';
import { RedfishError, refuse } from '../redfish/errors.js';
import { about, message, sentence, withDetail } from '../redfish/messages.js';
import { certificateTypes, renderCertificate, viewCertificate } from './certificate-rendering.js';
import { renderCollection } from './reference.js';
import { defineResource, type Services } from './services.js';

const uri = '/redfish/v1/Managers/{managerId}/NetworkProtocol/HTTPS/Certificates';
/** There is one. */
const ID = '1';
/** More than any chain needs. */
const LONGEST_PEM = 65_536;

/** When a key for a signing request may be asked for again. */
const RETRY_AFTER_S = '5';

/** URI of the collection of a manager. @param uuid of its machine. */
export function httpsCertificatesUri(uuid: string): string {
  return uri.replace('{managerId}', uuid);
}

/** URI of the certificate of a manager. */
export function httpsCertificateUri(uuid: string): string {
  return `${httpsCertificatesUri(uuid)}/${ID}`;
}

/** Parameters of whoever sends one. It may hold a private key, so no fault quotes it. */
export const sentCertificate = {
  CertificateString: z.string().superRefine((pem, context) => {
    if (pem.length <= LONGEST_PEM) return;
    context.addIssue({ code: 'custom', params: { message: message('StringValueTooLong', '******', LONGEST_PEM) } });
  }),
  CertificateType: z.enum(certificateTypes),
  // DMTF has it for PKCS #12; it opens a private key just as well.
  Password: z.string().max(1_000).nullish(),
};

/** What {@link sentCertificate} has let through. */
export interface SentCertificate {
  readonly CertificateString: string;
  readonly Password?: string | null | undefined;
}

/**
 * Replaces the certificate of HTTPS.
 * @param action whose parameters they are, `CertificateService.ReplaceCertificate`; absent: they are properties.
 * @throws {RedfishError}
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

/** What stands in the way, in Redfish's words; any other error as it is. */
export function translateCertificateError(error: unknown, action?: string): unknown {
  if (!(error instanceof ServerCertificateError)) return error;
  const name = 'CertificateString';
  const detail = sentence(error.message);
  if (error.kind === 'busy') {
    const later = withDetail(message('ServiceTemporarilyUnavailable', RETRY_AFTER_S), detail);
    return new RedfishError(503, [later], { 'Retry-After': RETRY_AFTER_S }, error);
  }
  const ofFormat =
    action === undefined
      ? message('PropertyValueFormatError', '******', name)
      : message('ActionParameterValueFormatError', '******', name, action);
  const ofValue =
    action === undefined ? message('PropertyValueError', name) : message('ActionParameterValueError', name, action);
  const fault = error.kind === 'format' ? ofFormat : ofValue;
  return new RedfishError(400, [about(withDetail(fault, detail), `#/${name}`)]);
}

/** @throws {RedfishError} 404 with plain HTTP. */
async function loadManager({ managerId }: { readonly managerId: string }, { driver, serverCertificate }: Services) {
  const { uuid } = await driver.getSystem(managerId);
  if (serverCertificate === null) throw refuse('ResourceNotFound', 'CertificateCollection', 'Certificates');
  return { uuid, certificate: serverCertificate };
}

const collection = defineResource({
  entity: 'CertificateCollection',
  odataType: '#CertificateCollection.CertificateCollection',
  uri,
  load: ({ params, services }) => loadManager(params, services),
  canonicalParams: ({ uuid }) => ({ managerId: uuid }),
  render: ({ uuid }) => ({
    ...renderCollection('HTTPS Certificate Collection', [httpsCertificateUri(uuid)]),
    '@Redfish.SupportedCertificates': certificateTypes,
  }),
  post: {
    // There is room for one: whoever adds one replaces it.
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
    const { uuid, certificate } = await loadManager(params, services);
    const view = params.certificateId === ID ? await viewCertificate(certificate.chain) : null;
    if (view === null) throw refuse('ResourceNotFound', 'Certificate', params.certificateId);
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

/** The certificate of HTTPS and its collection, under managers. */
export const httpsCertificateResources = [collection, member];
