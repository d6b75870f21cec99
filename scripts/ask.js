/**
 * Asks an address for scripts/start, which can not count on curl: `node scripts/ask.js URL`. Prints `rackless` where bmc-daemon
 * answers, `other` where something else has the port, nothing where the port is free; for a Redfish collection its members' paths,
 * a line each; for OpenAI's list of models `models` and the models' names, a line each; `locked` where one needs a key.
 */
import { get as getHttp } from 'node:http';
import { get as getHttps } from 'node:https';

const url = new URL(process.argv[2]);
const get = url.protocol === 'https:' ? getHttps : getHttp;

function describe(status, text) {
  try {
    const body = JSON.parse(text);
    if (status === 401 && typeof body.error?.message === 'string') return 'locked';
    if (Array.isArray(body.Members)) return body.Members.map((member) => member['@odata.id']).join('\n');
    if (body.object === 'list') return ['models', ...body.data.map((model) => model.id)].join('\n');
    return body.Vendor === 'Rackless' ? 'rackless' : 'other';
  } catch {
    return 'other';
  }
}

// The certificate may be anybody's: nothing secret is sent.
const request = get(url, { rejectUnauthorized: false }, (response) => {
  let text = '';
  response.setEncoding('utf8');
  response.on('data', (part) => (text += part));
  response.on('end', () => console.log(describe(response.statusCode, text)));
});
request.setTimeout(5000, () => request.destroy(new Error('no answer')));
request.on('error', (error) => {
  if (error.code !== 'ECONNREFUSED') console.log('other');
});
