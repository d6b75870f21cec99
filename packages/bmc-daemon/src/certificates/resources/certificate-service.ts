/** The certificate service: locations of certificates, signing requests and replacement. */
import { z } from 'zod';
import { RedfishError } from '../../redfish/messages/errors.js';
import { annotationOf, withPointers, message, withDetail } from '../../redfish/messages/messages.js';
import { decodeSegment } from '../../redfish/rendering.js';
import { runLongOperation } from '../../redfish/tasks/long-operation.js';
import type { JsonObject } from '../../redfish/resource.js';
import { actionInfo } from '../../resources/action-info.js';
import { replaceDriveCertificate } from './drive-certificate.js';
import {
  httpsCertificatesUri,
  httpsCertificateUri,
  replaceHttpsCertificate,
  sentCertificate,
  translateCertificateError,
} from './https-certificate.js';
import { drivesOf } from '../../resources/virtual-media/configured-drive.js';
import { inOrder } from '../../resources/members.js';
import { ifExists, readMachines } from '../../resources/read-machines.js';
import { reference } from '../../resources/reference.js';
import { defineResource, type Services } from './services.js';
import {
  collectionError,
  signingRequestBody,
  signingRequestOf,
  signingRequestAnnotations,
} from './signing-request-body.js';

const serviceUri = '/redfish/v1/CertificateService';
const generateAction = 'CertificateService.GenerateCSR';
const replaceAction = 'CertificateService.ReplaceCertificate';

const link = z.strictObject({ '@odata.id': z.string().max(500) });

const replacement = z.strictObject({ CertificateUri: link, ...sentCertificate });

const certificateService = defineResource({
  entity: 'CertificateService',
  odataType: '#CertificateService.v1_2_1.CertificateService',
  uri: serviceUri,
  load: ({ services }) => ({ certificate: services.serverCertificate }),
  render: (_entity, { self }) => ({
    Id: 'CertificateService',
    Name: 'Certificate Service',
    CertificateLocations: reference(`${self}/CertificateLocations`),
  }),
  actions: {
    '#CertificateService.GenerateCSR': {
      body: signingRequestBody,
      // A service with plain HTTP has no private key, so it cannot make signing requests.
      available: ({ certificate }) => certificate !== null,
      parameters: (): JsonObject => ({
        ...signingRequestAnnotations,
        '@Redfish.ActionInfo': `${serviceUri}/GenerateCSRActionInfo`,
      }),
      summary: ({ CommonName }) => CommonName,
      async run({ certificate }, body, { services, requester }) {
        const machineUuid = await machineOfHttpsCollection(body.CertificateCollection['@odata.id'], services);
        if (machineUuid === null || certificate === null)
          throw collectionError(body.CertificateCollection['@odata.id']);
        const request = signingRequestOf(body);
        // A long RSA key takes some seconds, and each request waits for the earlier ones.
        return runLongOperation(
          {
            name: `Create a key and a signing request for ${body.CommonName}`,
            requester,
            context: { action: generateAction, body, path: `${serviceUri}/Actions/${generateAction}` },
            run: async () => {
              try {
                const pem = await certificate.generateSigningRequest(request);
                return {
                  response: { CertificateCollection: reference(httpsCertificatesUri(machineUuid)), CSRString: pem },
                };
              } catch (error) {
                throw translateCertificateError(error);
              }
            },
          },
          services.operations,
        );
      },
    },
    '#CertificateService.ReplaceCertificate': {
      body: replacement,
      parameters: (): JsonObject => ({ '@Redfish.ActionInfo': `${serviceUri}/ReplaceCertificateActionInfo` }),
      async run({ certificate }, body, { services }) {
        const uri = body.CertificateUri['@odata.id'].replace(/\/$/, '');
        const machineUuid = uri.endsWith('/1')
          ? await machineOfHttpsCollection(uri.replace(/\/1$/, ''), services)
          : null;
        if (machineUuid !== null && certificate !== null) {
          await replaceHttpsCertificate(certificate, body, replaceAction);
          return { changed: { location: httpsCertificateUri(machineUuid) } };
        }
        const location = await replaceDriveCertificate(uri, body, services, replaceAction);
        if (location !== null) return { changed: { location } };
        const fault = message('ActionParameterValueFormatError', uri, 'CertificateUri', replaceAction);
        const detail = 'The URI must be in CertificateLocations of this service.';
        throw new RedfishError(400, [withPointers(withDetail(fault, detail), '#/CertificateUri')]);
      },
    },
  },
});

/**
 * Returns the UUID of the machine if a URI is the HTTPS certificate collection of its manager. Returns null for any
 * other URI and for an unknown machine.
 * @throws the other errors of the driver.
 */
async function machineOfHttpsCollection(uri: string, { driver }: Services): Promise<string | null> {
  const [, id] = /^\/redfish\/v1\/Managers\/([^/]+)\/NetworkProtocol\/HTTPS\/Certificates\/?$/.exec(uri) ?? [];
  if (id === undefined) return null;
  const machine = await ifExists(driver.getSystem(decodeSegment(id)));
  return machine?.uuid ?? null;
}

const certificateLocations = defineResource({
  entity: 'CertificateLocations',
  odataType: '#CertificateLocations.v1_0_4.CertificateLocations',
  uri: '/redfish/v1/CertificateService/CertificateLocations',
  load: async ({ services }) => {
    const { driver, serverCertificate, settings } = services;
    const uuids = inOrder(await driver.listSystems(), 'ascending').map(({ uuid }) => uuid);
    const { systems, unread } = await readMachines(uuids, services, { part: 'the certificates' });
    const uris = [
      ...(serverCertificate === null ? [] : systems.map(({ uuid }) => httpsCertificateUri(uuid))),
      ...systems.flatMap((system) =>
        drivesOf(system, settings.vmediaDevices).flatMap(({ id, drive }) =>
          drive.certificates.map(
            (certificate) => `/redfish/v1/Systems/${system.uuid}/VirtualMedia/${id}/Certificates/${certificate.id}`,
          ),
        ),
      ),
    ];
    return { uris, unread };
  },
  render: ({ uris, unread }) => ({
    Id: 'CertificateLocations',
    Name: 'Certificate Locations',
    Links: { Certificates: uris.map(reference), 'Certificates@odata.count': uris.length },
    ...annotationOf(unread),
  }),
});

const generateInfo = actionInfo<Services>({
  uri: '/redfish/v1/CertificateService/GenerateCSRActionInfo',
  action: generateAction,
  body: signingRequestBody,
  annotations: signingRequestAnnotations,
  available: ({ serverCertificate }) => serverCertificate !== null,
});

const replaceInfo = actionInfo<Services>({
  uri: '/redfish/v1/CertificateService/ReplaceCertificateActionInfo',
  action: replaceAction,
  body: replacement,
});

/** The certificate service, the ActionInfo of its actions, and the certificate locations. */
export const certificateServiceResources = [certificateService, generateInfo, replaceInfo, certificateLocations];
